// The device gauge: one clock that asks the server, an item in the status bar, and a large view for a projector.

import { h, show } from './dom.js';
import { ask } from './server.js';

const EVERY_MS = 2000;
const KEPT = 150; // readings: five minutes
const GIB = 2 ** 30;
const NONE = 'not available';

/** Asks every two seconds as long as somebody is there to see it. */
export class Clock {
  constructor(lib) {
    this._lib = lib;
    this._viewers = new Set();
    this._timer = 0;
    this._asking = false;
    this.history = [];
    this.problem = '';
    document.addEventListener('visibilitychange', () => this.wake());
  }

  /** viewer: {inView(), draw(clock)} */
  add(viewer) {
    this._viewers.add(viewer);
    this.wake();
  }

  remove(viewer) {
    this._viewers.delete(viewer);
  }

  get last() {
    return this.history[this.history.length - 1] || null;
  }

  wake() {
    clearTimeout(this._timer);
    this._timer = 0;
    if (!this._asking) void this._turn();
  }

  async _turn() {
    const watching = () => !document.hidden && Array.from(this._viewers).some(viewer => viewer.inView());
    if (!watching()) return;
    this._asking = true;
    try {
      const found = await ask(this._lib, 'gauge');
      this.history.push({ ...found, at: Date.now() });
      this.history.splice(0, this.history.length - KEPT);
      this.problem = '';
    } catch (problem) {
      this.problem = problem.message;
    }
    this._asking = false;
    for (const viewer of this._viewers) if (viewer.inView()) viewer.draw(this);
    clearTimeout(this._timer);
    this._timer = setTimeout(() => this.wake(), EVERY_MS);
  }
}

const known = value => value !== null && value !== undefined;
const percent = device => (known(device.use_percent.value) ? `${Math.round(device.use_percent.value)} %` : NONE);
const gib = bytes => (bytes / GIB).toFixed(bytes < 100 * GIB ? 1 : 0);
const named = (value, unit) => (known(value.value) ? `${Math.round(value.value)} ${unit}` : NONE);

function memory(device) {
  const [used, total] = [device.memory_used_bytes.value, device.memory_total_bytes.value];
  if (known(used) && known(total)) return `${gib(used)} of ${gib(total)} GiB`;
  return known(used) ? `${gib(used)} GiB` : known(total) ? `${gib(total)} GiB in all` : NONE;
}

/** A device in one sentence, for screen readers and tooltips. */
function sentence(device) {
  const kind = device.kind === 'cpu' ? 'memory of this machine' : 'memory';
  return (
    `${device.name}: use ${percent(device)}, ${kind} ${memory(device)}, ` +
    `power ${named(device.power_w, 'W')}, temperature ${named(device.temperature_c, '°C')}`
  );
}

function brief(devices) {
  if (!devices.length) return 'Devices: no answer';
  if (devices.length === 1) {
    const [one] = devices;
    const parts = [`${one.name} ${known(one.use_percent.value) ? percent(one) : '–'}`];
    if (known(one.memory_used_bytes.value)) parts.push(`${one.kind === 'cpu' ? 'RAM ' : ''}${memory(one).replace(' of ', '/')}`);
    if (known(one.power_w.value)) parts.push(named(one.power_w, 'W'));
    if (known(one.temperature_c.value)) parts.push(named(one.temperature_c, '°C'));
    return parts.join(' · ');
  }
  const told = devices.filter(one => known(one.use_percent.value));
  if (!told.length) return `${devices.length} GPUs`;
  const most = told.reduce((a, b) => (b.use_percent.value > a.use_percent.value ? b : a));
  return `${devices.length} GPUs · busiest: ${most.name}, ${percent(most)}`;
}

/** The item of the status bar; it opens the large view. */
export function statusItem(app, lib, clock) {
  const { Widget } = lib.widgets;

  return new (class StatusItem extends Widget {
    constructor() {
      super();
      this.addClass('rl-status');
      this._button = h('button', { onclick: () => void app.commands.execute('rocm-labs:gauge') }, 'Devices …');
      this._button.setAttribute('aria-label', 'Device gauge. Opens the large view.');
      this.node.append(this._button);
    }

    onAfterAttach() {
      clock.add(this);
    }

    onAfterShow() {
      clock.wake();
    }

    onBeforeDetach() {
      clock.remove(this);
    }

    inView() {
      return this.isVisible;
    }

    draw() {
      const devices = clock.problem ? [] : clock.last.devices;
      const words = devices.map(sentence).join('\n') || clock.problem || clock.last.note || 'No device answers.';
      this._button.textContent = brief(devices);
      this._button.title = `${words}\nClick for the large view.`;
      this._button.setAttribute('aria-label', `Device gauge. ${words}. Opens the large view.`);
    }
  })();
}

/** The large view: one card for each device. */
export function gaugePage(lib, clock) {
  const { Widget } = lib.widgets;

  return class GaugePage extends Widget {
    constructor() {
      super();
      this.addClass('rl-page');
      this.addClass('rl-gauge');
      this.node.tabIndex = 0;
      this.node.setAttribute('aria-label', 'Device gauge');
      this._cards = h('div', { class: 'rl-cards' }, h('p', {}, 'The devices are being read …'));
      this._note = h('p', { class: 'rl-note', role: 'status' });
      this.node.append(h('h1', {}, 'Device gauge'), this._note, this._cards);
    }

    onAfterAttach() {
      clock.add(this);
      if (clock.last) this.draw();
    }

    onAfterShow() {
      clock.wake();
    }

    onBeforeDetach() {
      clock.remove(this);
    }

    onActivateRequest() {
      this.node.focus({ preventScroll: true });
    }

    inView() {
      return this.isVisible;
    }

    draw() {
      const last = clock.last;
      const note = clock.problem || (last && last.note) || '';
      if (this._note.textContent !== note) this._note.textContent = note;
      this._cards.classList.toggle('rl-old', Boolean(clock.problem));
      this._cards.classList.toggle('rl-many', Boolean(last) && last.devices.length > 2);
      if (last) show(this._cards, ...last.devices.map(device => card(device, clock.history, last.devices.length > 2)));
    }
  };
}

function card(device, history, many) {
  const past = history.map(one => [one.at, one.devices.find(other => other.name === device.name)?.use_percent.value ?? null]);
  const share =
    known(device.memory_used_bytes.value) && device.memory_total_bytes.value
      ? (100 * device.memory_used_bytes.value) / device.memory_total_bytes.value
      : null;
  return h(
    'section',
    { class: 'rl-card', 'aria-label': device.name },
    h('h2', {}, device.name, h('span', { class: 'rl-small' }, device.kind === 'cpu' ? 'no GPU is seen; all cores together' : '')),
    h('p', { class: 'rl-big' }, h('span', { class: 'rl-name' }, 'use'), h('strong', { class: known(device.use_percent.value) ? '' : 'rl-none' }, percent(device))),
    curve(past),
    h(
      'dl',
      {},
      value(device.kind === 'cpu' ? 'memory (RAM)' : 'memory', many ? memory(device).replace(' of ', '/') : memory(device), share),
      value('power', named(device.power_w, 'W')),
      value('temperature', named(device.temperature_c, '°C'))
    ),
    h('p', { class: 'rl-source' }, sources(device))
  );
}

function value(name, words, share = null) {
  return h(
    'div',
    {},
    h('dt', {}, name),
    h('dd', { class: words === NONE ? 'rl-none' : '' }, words, share !== null && h('div', { class: 'rl-bar', 'aria-hidden': 'true' }, h('div', { style: `width: ${share}%` })))
  );
}

function sources(device) {
  const names = { use_percent: 'use', memory_used_bytes: 'memory', power_w: 'power', temperature_c: 'temperature' };
  const by = new Map();
  for (const [key, name] of Object.entries(names)) {
    const source = device[key].source;
    if (source !== NONE) by.set(source, [...(by.get(source) || []), name]);
  }
  return `source: ${Array.from(by, ([source, what]) => (by.size > 1 ? `${source} (${what.join(', ')})` : source)).join('; ') || 'none'}`;
}

/** The use over the last five minutes; where nothing was told, the line has a gap. */
function curve(past) {
  const [width, height, now] = [300, 60, past[past.length - 1][0]];
  const place = ([at, use]) => `${(width - ((now - at) / (KEPT * EVERY_MS)) * width).toFixed(1)},${(height - (use / 100) * height).toFixed(1)}`;
  const parts = [[]];
  past.forEach((point, k) => {
    if (!known(point[1]) || (k && point[0] - past[k - 1][0] > 5 * EVERY_MS)) parts.push([]);
    if (known(point[1]) && now - point[0] <= KEPT * EVERY_MS) parts[parts.length - 1].push(point);
  });
  const told = past.map(point => point[1]).filter(known);
  const words = told.length
    ? `Use over the last five minutes: lowest ${Math.round(Math.min(...told))} %, highest ${Math.round(Math.max(...told))} %.`
    : 'Use over the last five minutes: nothing is told.';
  return h(
    'figure',
    { class: 'rl-curve' },
    h(
      'svg',
      { viewBox: `0 -2 ${width} ${height + 4}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': words },
      ...[0, height / 2, height].map(y => h('line', { x1: 0, x2: width, y1: y, y2: y })),
      ...parts.filter(part => part.length > 1).map(part => h('polyline', { points: part.map(place).join(' ') }))
    ),
    h('figcaption', {}, h('span', {}, '5 min ago'), h('span', {}, '0 to 100 %'), h('span', {}, 'now'))
  );
}
