// The page: its address, the connection, the keys.

import { open } from './api.js';
import { el, setClock, show, since } from './dom.js';
import { listView } from './list.js';
import { setView } from './set.js';

const main = document.getElementById('main-content');
const contact = document.getElementById('contact');
const contactText = document.getElementById('contact-text');
const contactSince = document.getElementById('contact-since');
const problem = document.getElementById('problem');
const context = { scope: '', readOnly: false, away: false, on, disconnected };
let view = null;
let hub = {};
let connected = true;
let heard = performance.now();

// silence is how long the page counts as live after the last beat of the server, in milliseconds.
const silence = 5000;

function on(event, data) {
  heard = performance.now();
  connected = true;
  if (event === 'hello') {
    Object.assign(context, { scope: data.scope, readOnly: data.readOnly });
    setClock(data.now);
  }
  if (event === 'hub') hub = data;
  if (event === 'problem') fail(data.error);
  if (event === 'list' || event === 'update') fail('');
  connection();
}

function disconnected() {
  connected = false;
  connection();
}

function connection() {
  if (!document.hidden && performance.now() - heard > silence) connected = false;
  context.away = Boolean(!connected || hub.since);
  contact.classList.toggle('away', context.away);
  if (!connected) show(contactText, 'The command has ended or can’t be reached. The page shows what it saw last.');
  else if (hub.since) show(contactText, `The API server can’t be reached. The page shows what it saw last. ${hub.problem}`);
  else show(contactText, `Live${context.readOnly ? ', read-only' : ''} · ${context.scope}`);
  // The time is outside the live region: a screen reader would read it every second.
  show(contactSince, connected && hub.since ? `The first request failed ${since(hub.since)} ago.` : '');
}

function fail(text) {
  problem.hidden = !text;
  show(problem, text);
}

// decoded returns a part of the address. A user may type one that is not encoded.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function route() {
  const parts = location.hash.replace(/^#\/?/, '').split('/').filter(Boolean).map(decoded);
  view?.end();
  fail('');
  const where = document.getElementById('where');
  if (parts.length === 2) {
    show(where, ` › ${parts[0]}/${parts[1]}`);
    document.title = `${parts[1]} · Rollouts`;
    view = setView(main, context, parts[0], parts[1]);
    return;
  }
  show(where, '');
  document.title = 'Rollouts';
  view = listView(main, context);
}

function typing(event) {
  return event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, textarea, select, dialog');
}

function keys(event) {
  if (event.key === 'Escape' && !event.target.closest?.('dialog')) view?.escape?.();
  if (typing(event)) return;
  if (event.key === '/') {
    event.preventDefault(); // The key focuses the search when it is released: the search must not get it as a text.
  } else if (event.key === 'l' || event.key === 'u') {
    location.hash = '#/';
  } else {
    view?.key?.(event);
  }
}

async function begin() {
  document.getElementById('skip').addEventListener('click', (event) => { event.preventDefault(); main.focus(); });
  try {
    await open();
  } catch (error) {
    fail(error.message);
    main.replaceChildren(el('p', {}, 'Start ', el('code', {}, 'kubectl mwrs dashboard'), ' again, or open the address that it printed.'));
    return;
  }
  addEventListener('hashchange', route);
  addEventListener('keydown', keys);
  addEventListener('keyup', (event) => { if (event.key === '/' && !typing(event)) view?.search(); });
  document.addEventListener('visibilitychange', () => { heard = performance.now(); }); // A hidden tab hears nothing.
  setInterval(connection, 1000);
  route();
}

begin();
