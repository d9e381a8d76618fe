// Elements without a framework. Text is always set as text, never as HTML.

/** h('p', {class: 'x', onclick: f}, 'text', child): an element. A property that is null or false is left out. */
export function h(tag, properties = {}, ...children) {
  const svg = ['svg', 'polyline', 'line'].includes(tag);
  const node = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return node;
}

/** Puts new children into a node; the element with the focus keeps it, by its data-key. */
export function show(node, ...children) {
  const key = node.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  node.replaceChildren(...children);
  if (key) node.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}
