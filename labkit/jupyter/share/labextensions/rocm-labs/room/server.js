// What the server extension (labkit/jupyter/handlers.py) answers.

export class Refused extends Error {
  constructor(message, remedy = '') {
    super(message);
    this.remedy = remedy;
  }
}

/** Asks labkit/<name>; a problem is thrown as Refused, in words for the learner. */
export async function ask(lib, name, body = null) {
  const { ServerConnection } = lib.services;
  const settings = ServerConnection.makeSettings();
  const url = `${settings.baseUrl.replace(/\/$/, '')}/labkit/${name}`;
  const request = body === null ? { cache: 'no-store' } : { method: 'POST', body: JSON.stringify(body) };
  let response;
  try {
    response = await ServerConnection.makeRequest(url, request, settings);
  } catch {
    throw new Refused('The Jupyter server does not answer.', 'See whether it still runs, then load this page again.');
  }
  let found = {};
  try {
    found = await response.json();
  } catch {
    // a proxy's own page; the status says enough
  }
  if (!response.ok) {
    const told = found.message || `The Jupyter server answered with status ${response.status}.`;
    throw new Refused(told, found.remedy || (response.status === 404 ? 'Is the extension labkit.jupyter switched on?' : ''));
  }
  return found;
}
