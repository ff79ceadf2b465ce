// The history: the revisions and the events, newest first.

import { el, fill, since, time, words } from './dom.js';

// latest is the number of events that are shown at first.
const latest = 8;

export function history(host, head, act, readOnly) {
  const total = Math.max(1, head.selected);
  fill(host,
    el('h2', {}, 'Revisions'),
    el('ol', { class: 'revisions' }, head.revisions.map((r) => el('li', { key: r.hash },
      el('b', { class: 'number' }, r.number), el('b', {}, r.changeCause || `Revision ${r.number}`),
      el('span', { class: r.state === 'Aborted' ? 'bad' : 'soft' }, [words(r.state), r.current && 'current'].filter(Boolean).join(', ')),
      r.now > 0 ? el('progress', { max: total, value: r.now, class: r.state === 'Aborted' ? 'bad' : null, 'aria-label': `${r.now} of ${total} clusters have revision ${r.number}` }) : null,
      el('small', {}, [r.now >= 0 && `on ${r.now} of ${total} clusters`, r.reached !== undefined && `at most ${r.reached} at once`,
        r.started && `started ${since(r.started)} ago`, r.createdBy && `by ${r.createdBy}`].filter(Boolean).join(' · ')),
      r.abortReason ? el('small', { class: 'bad' }, r.abortReason) : null,
      !readOnly && r.stored && !r.update && head.revisions.length > 1 // The template in the spec is that of the update revision.
        ? el('small', {}, el('button', { type: 'button', 'aria-label': `Undo to revision ${r.number}`, onclick: () => act.ask('undo', { revision: r.number }) }, 'Undo to this …')) : null))),
    el('h2', {}, 'Latest'),
    timeline(head.events.slice(0, latest)),
    head.events.length > latest ? el('details', {}, el('summary', {}, 'Earlier'), timeline(head.events.slice(latest))) : null);
}

function timeline(events) {
  return el('ol', { class: 'timeline' }, events.map((e) => el('li', { key: `${e.at} ${e.text}`, class: e.bad ? 'bad-event' : null },
    time(e.at), el('span', { class: e.bad ? 'bad' : null }, e.text))));
}
