// The page: its address, the connection, the keys.

import { open } from './api.js';
import { setClock, show, since } from './dom.js';
import { listView } from './list.js';
import { setView } from './set.js';

const main = document.getElementById('main-content');
const contact = document.getElementById('contact');
const contactText = document.getElementById('contact-text');
const contactSince = document.getElementById('contact-since');
const problem = document.getElementById('problem');
const context = { scope: '', readOnly: false, away: false, on, fail };
let view = null;

// on shows whether the page is live, or why there is nothing to show.
function on(news) {
  if (news.now) {
    Object.assign(context, { scope: news.scope, readOnly: news.readOnly });
    setClock(news.now);
  }
  const failed = Boolean(news.lost || news.since || news.error);
  context.away = failed || !news.version; // Without a version, the command still reads: the page shows what it saw before.
  contact.classList.toggle('away', failed);
  if (news.lost) show(contactText, 'The command has ended or can’t be reached. The page shows the last known state.');
  else if (news.since) show(contactText, `The API server can’t be reached. The page shows the last known state. ${news.contact}`);
  else if (news.error) show(contactText, 'Not live: the newest state can’t be shown.');
  else if (!news.version) show(contactText, 'Reading from the hub …');
  else show(contactText, `Live${context.readOnly ? ', read-only' : ''} · ${context.scope}`);
  // The time is outside the live region: a screen reader would read it every second.
  show(contactSince, news.since ? `The first request failed ${since(news.since)} ago.` : '');
  if (news.error || news.data) fail(news.error ?? '');
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

function begin() {
  document.getElementById('skip').addEventListener('click', (event) => { event.preventDefault(); main.focus(); });
  open();
  addEventListener('hashchange', route);
  addEventListener('keydown', keys);
  addEventListener('keyup', (event) => { if (event.key === '/' && !typing(event)) view?.search(); });
  route();
}

begin();
