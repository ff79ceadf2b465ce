// The list below the map shows the same clusters as text, most urgent first. It is drawn only while it is open.

import { el, fill, show, since, words } from './dom.js';
import { phases, phaseIndex, urgency } from './phases.js';

const page = 100;

export function clusterList({ choose }) {
  let most = page;
  let last = null;
  const title = el('summary');
  const body = el('tbody');
  const more = el('button', { type: 'button', onclick: () => { most += page * 5; render(); } });
  const element = el('details', { class: 'listed' }, title, el('div', { class: 'clusters', tabindex: '0', role: 'region', 'aria-label': 'List of clusters' },
    el('table', {}, el('thead', {}, el('tr', {}, ...['Cluster', 'State', 'For', 'Rev.'].map((name) => el('th', { scope: 'col' }, name)))), body)), more);
  element.addEventListener('toggle', render);

  function render() {
    const { model, filter } = last;
    const rows = [];
    model.cells.forEach((cell, i) => { if (filter.shows(cell)) rows.push([urgency(cell.state), i]); });
    show(title, filter.active() ? `${rows.length} of ${model.cells.length} clusters, as a list` : `${model.cells.length} clusters, as a list`);
    if (!element.open) return;
    rows.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    more.hidden = rows.length <= most;
    show(more, `Show ${Math.min(page * 5, rows.length - most)} more`);
    fill(body, rows.slice(0, most).map(([, i]) => line(model.cells[i])));
  }

  function line({ name, message, state, since: at, wrote }) {
    return el('tr', { key: name },
      el('td', { class: 'wrap' }, el('button', { type: 'button', class: 'plain', onclick: () => choose(name) }, name),
        message ? el('div', { class: 'soft' }, message.slice(0, 160)) : null),
      el('td', { class: phases[phaseIndex(state)].bad ? 'bad' : null }, words(state)),
      el('td', { class: 'soft' }, since(at)), el('td', {}, wrote || '–'));
  }

  return { element, show: (model, filter) => { last = { model, filter }; render(); } };
}
