// The list of all ManifestWorkReplicaSets, sorted by urgency.

import { follow } from './api.js';
import { el, fill, plural, show, since, words } from './dom.js';

// The states, most urgent first.
const urgency = ['WouldAbort', 'Stalled', 'Invalid', 'Aborting', 'Aborted', 'Paused', 'RollingOut', 'Deleting', 'Complete'];

function rank(row) {
  const at = urgency.indexOf(row.state);
  const base = at < 0 ? urgency.length : at;
  return row.failed > 0 && row.state !== 'Stalled' && row.state !== 'WouldAbort' ? Math.min(base, 2.5) : base;
}

const stateClass = {
  WouldAbort: 'bad', Stalled: 'bad', Invalid: 'bad', Aborted: 'bad', Aborting: 'bad', Paused: 'warn', RollingOut: 'warn', Deleting: 'warn', Complete: 'good',
};

export function listView(main, context) {
  const body = el('tbody');
  const note = el('p', { class: 'soft', role: 'status' });
  const search = el('input', { type: 'search', id: 'search', 'aria-label': 'Filter by namespace or name', placeholder: 'Filter (press /)', oninput: () => draw() });
  main.replaceChildren(el('section', { class: 'card', 'aria-label': 'ManifestWorkReplicaSets' },
    el('div', { class: 'bar' }, el('h2', {}, 'ManifestWorkReplicaSets'), el('span', { class: 'gap' }), search), note,
    el('div', { class: 'scroll' }, el('table', { class: 'list' }, el('caption', { class: 'hidden' }, 'ManifestWorkReplicaSets, most urgent first'),
      el('thead', {}, el('tr', {}, ...['Name', 'State', 'For', 'Clusters', 'Failed', 'Revision'].map((name, i) =>
        el('th', { scope: 'col', class: i === 2 || i === 5 ? 'optional' : null }, name)))), body))));
  let rows = null;

  function line(row) {
    const href = `#/${encodeURIComponent(row.namespace)}/${encodeURIComponent(row.name)}`;
    const changes = row.update && row.current && row.update !== row.current ? `${row.current} → ${row.update}` : String(row.update || '–');
    return el('tr', { key: href, onclick: () => { location.hash = href; } },
      el('td', { class: 'wrap' }, el('a', { href }, `${row.namespace}/${row.name}`)),
      el('td', { class: `state ${stateClass[row.state] ?? ''}` }, words(row.state)),
      el('td', { class: 'optional' }, since(row.since)),
      el('td', {}, el('progress', {
        max: Math.max(1, row.selected), value: row.sick || row.healthy, class: row.sick ? 'bad' : null,
        'aria-label': `${row.healthy} of ${row.selected} clusters are healthy, ${row.sick} are not`,
      }),
        ` ${row.updated}/${row.selected}`),
      el('td', { class: row.failed ? 'bad' : 'soft' }, String(row.failed)),
      el('td', { class: 'optional' }, changes));
  }

  function draw() {
    if (!rows) return;
    const wanted = search.value.trim().toLowerCase();
    const shown = rows.filter((row) => `${row.namespace}/${row.name}`.toLowerCase().includes(wanted))
      .sort((a, b) => rank(a) - rank(b) || `${a.namespace}/${a.name}`.localeCompare(`${b.namespace}/${b.name}`));
    const urgent = rows.filter((row) => rank(row) < 4).length;
    show(note, rows.length ? `${plural(rows.length, 'ManifestWorkReplicaSet')} in ${context.scope}. ${urgent ? `${urgent} need attention.` : 'None needs attention.'}`
      : `There are no ManifestWorkReplicaSets in ${context.scope}.`);
    fill(body, shown.map(line));
  }

  const end = new AbortController();
  const timer = setInterval(draw, 5000);
  follow('/api/list', end.signal, (news) => {
    context.on(news);
    if (news.data) { rows = news.data; draw(); }
  });
  return { end: () => { end.abort(); clearInterval(timer); }, search: () => search.focus() };
}
