// The history: the causes, the revisions and the timeline.

import { ago, el, fill, time } from './dom.js';

export function history(host, namespace, name, head, seen, act, readOnly) {
  const key = JSON.stringify([head.events, head.revisions, head.causes, seen.length]);
  if (host.dataset.key === key) return;
  host.dataset.key = key;
  const events = [...head.events, ...seen].sort((a, b) => a.at - b.at);
  fill(host,
    head.causes.length ? el('h2', {}, 'Causes') : null,
    head.causes.length ? el('ul', {}, head.causes.map((c) => el('li', {}, `${c.clusters} × ${c.reason}: ${c.message}`))) : null,
    el('h2', {}, 'Revisions'), el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Revisions' }, revisions(head, act, readOnly)),
    el('h2', {}, 'Timeline'),
    el('ol', { class: 'timeline' }, events.map((e) => el('li', { class: [e.bad && 'bad-event', e.seen && 'seen'].filter(Boolean).join(' ') || null },
      el('div', {}, time(e.at), el('span', { class: e.bad ? 'bad' : null }, e.text))))));
}

function revisions(head, act, readOnly) {
  return el('table', {},
    el('thead', {}, el('tr', {}, ...['Revision', 'State', 'Now', 'Reached', 'Started', 'Change cause', 'By', ...(readOnly ? [] : ['Undo'])].map((n) => el('th', { scope: 'col' }, n)))),
    el('tbody', {}, head.revisions.map((r) => el('tr', {},
      el('td', {}, [r.number, r.update && 'update', r.current && 'current'].filter(Boolean).join(' ')),
      el('td', { class: r.state === 'Aborted' ? 'bad' : null }, [r.state, r.abortReason].filter(Boolean).join(': ') || '–'),
      el('td', {}, r.now < 0 ? '–' : String(r.now)), el('td', {}, r.reached === undefined ? '–' : String(r.reached)),
      el('td', {}, ago(r.started)), el('td', { class: 'wrap' }, r.changeCause || '–'), el('td', { class: 'wrap' }, r.createdBy || '–'),
      readOnly ? null : el('td', {}, r.stored && !(r.update && r.current) && head.revisions.length > 1 && !isSpec(r, head)
        ? el('button', { type: 'button', 'aria-label': `Undo to revision ${r.number}`, onclick: () => act.ask('undo', { revision: r.number }) }, 'Undo to this') : null)))));
}

// The template in the spec is that of the update revision.
function isSpec(r) { return r.update; }
