// Small helpers for the DOM. Texts come from agents and users: they only ever become text nodes.

// el returns an element with attributes, listeners (onclick …) and children. Children that are null or false are left out.
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  fill(element, ...children);
  return element;
}

// fill replaces the children of an element.
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

// show sets the text of an element if it is another one, so that screen readers are not told the same again.
export function show(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function announce(text) {
  show(document.getElementById('announce'), text);
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
export function age(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 120) return `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 10) return s % 60 ? `${m}m${s % 60}s` : `${m}m`;
  if (m < 180) return `${m}m`;
  const h = Math.floor(m / 60);
  return h < 48 ? `${h}h` : `${Math.floor(h / 24)}d`;
}

export function ago(unix) {
  return unix ? `${age(now() / 1000 - unix)} ago` : '–';
}

export function left(unix) {
  const seconds = unix - now() / 1000;
  return seconds > 0 ? `in ${age(seconds)}` : 'now';
}

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

export function time(unix) {
  return el('time', { datetime: new Date(unix * 1000).toISOString() }, clock.format(unix * 1000));
}

export function plural(n, one) {
  return `${n.toLocaleString()} ${one}${n === 1 ? '' : 's'}`;
}
