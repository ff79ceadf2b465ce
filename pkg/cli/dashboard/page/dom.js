// Small helpers for the DOM. Texts from agents and users always become text nodes.

const handlers = ['onclick', 'oninput', 'onchange'];

// el returns an element with attributes, styles, handlers (onclick …) and children. Children that are null or false are omitted. A key
// identifies an element among its siblings.
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'key' || name.startsWith('on')) element[name] = value;
    else if (name === 'style') Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== '')
    .map((child) => (child instanceof Node ? child : new Text(String(child))));
}

// fill replaces the children of an element. Children that stay are changed in place, so that a press, a text selection and the focus
// survive. Elements with a key stay as long as their key.
export function fill(element, ...children) {
  const next = nodes(children);
  const wanted = new Set(next.map((node) => node.key));
  const present = new Map();
  for (const child of [...element.childNodes]) {
    if (child.key === undefined) continue;
    if (wanted.has(child.key)) present.set(child.key, child);
    else child.remove();
  }
  let at = element.firstChild;
  for (const node of next) {
    const old = node.key === undefined ? alike(at, node) : present.get(node.key);
    if (!old) {
      element.insertBefore(node, at);
      continue;
    }
    if (node.key === undefined) while (at !== old) at = removed(at);
    else if (at !== old) element.insertBefore(old, at);
    patch(old, node);
    at = old.nextSibling;
  }
  while (at) at = removed(at);
}

// alike returns the first sibling without a key that can be turned into a node.
function alike(at, node) {
  for (let old = at; old && old.key === undefined; old = old.nextSibling) {
    if (old.nodeName === node.nodeName) return old;
  }
  return null;
}

function removed(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

function patch(old, node) {
  if (old === node) return;
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== node.data) old.data = node.data;
    return;
  }
  for (const name of handlers) old[name] = node[name];
  for (const { name } of [...old.attributes]) {
    if (!node.hasAttribute(name) && name !== 'open' && name !== 'style') old.removeAttribute(name); // The user opens details.
  }
  for (const { name, value } of node.attributes) {
    if (name !== 'style' && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.style.cssText !== node.style.cssText) old.style.cssText = node.style.cssText;
  fill(old, ...node.childNodes);
}

// show sets the text of an element only if it differs, so that screen readers do not repeat it.
export function show(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function announce(text) {
  show(document.getElementById('announce'), text);
}

// words returns the name of a state or reason of the API as words: "RollingOut" as "Rolling out".
export function words(name) {
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

// The difference between the clock of the hub's user interface (the command) and that of the browser, in milliseconds.
let ahead = 0;

export function setClock(now) {
  ahead = now - Date.now();
}

export function now() {
  return Date.now() + ahead;
}

// age returns a duration in kubectl's style: 5s, 3m20s, 2h, 4d.
function age(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 120) return `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 10) return s % 60 ? `${m}m${s % 60}s` : `${m}m`;
  if (m < 180) return `${m}m`;
  const h = Math.floor(m / 60);
  return h < 48 ? `${h}h` : `${Math.floor(h / 24)}d`;
}

// since returns the time that has passed since a timestamp of the API.
export function since(at) {
  return at ? age((now() - Date.parse(at)) / 1000) : '–';
}

// until returns the time that is left until a timestamp of the API.
export function until(at) {
  const left = Math.round((Date.parse(at) - now()) / 1000);
  return left > 0 ? age(left) : 'a moment';
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const calendar = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

// time formats a time, with the date if it is not today.
export function time(text) {
  const at = new Date(text);
  return el('time', { datetime: at.toISOString(), title: calendar.format(at) }, (at.toDateString() === new Date(now()).toDateString() ? clock : calendar).format(at));
}

export function plural(n, one) {
  return `${n} ${one}${n === 1 ? '' : 's'}`;
}
