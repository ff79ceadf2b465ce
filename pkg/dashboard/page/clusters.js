// The list that stands beside the map: the same clusters as text, the most urgent first.

import { ago, el, fill, show } from './dom.js';
import { phaseIndex } from './phases.js';

const page = 100;

export function clusterList({ choose }) {
  let most = page;
  let drawn = '';
  let last = null;
  const title = el('h2');
  const body = el('tbody');
  const more = el('button', { type: 'button', onclick: () => { most += page * 5; render(); } });
  const element = el('div', {}, title, el('div', { class: 'clusters', tabindex: '0', role: 'region', 'aria-label': 'List of clusters' },
    el('table', {}, el('thead', {}, el('tr', {}, ...['Cluster', 'State', 'Since', 'Rev.'].map((name) => el('th', { scope: 'col' }, name)))), body)), more);

  function render() {
    const { model, filter } = last;
    const rows = [];
    model.cells.forEach((cell, i) => { if (filter.shows(cell)) rows.push([phaseIndex(cell.s), i]); });
    rows.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    show(title, filter.active() ? `${rows.length.toLocaleString()} of ${model.cells.length.toLocaleString()} clusters` : `${model.cells.length.toLocaleString()} clusters`);
    more.hidden = rows.length <= most;
    show(more, `Show ${Math.min(page * 5, rows.length - most)} more`);
    const top = rows.slice(0, most);
    const key = top.map(([, i]) => `${i} ${model.cells[i].s} ${model.cells[i].t} ${model.cells[i].w} ${model.texts[i]}`).join('\n');
    if (key === drawn) return;
    drawn = key;
    const focused = document.activeElement?.dataset?.cluster;
    fill(body, top.map(([, i]) => line(model, i)));
    if (focused) [...body.querySelectorAll('button')].find((button) => button.dataset.cluster === focused)?.focus();
  }

  function line(model, i) {
    const cell = model.cells[i];
    return el('tr', {},
      el('td', { class: 'wrap' }, el('button', { type: 'button', class: 'plain', 'data-cluster': cell.n, onclick: () => choose(cell.n) }, cell.n),
        model.texts[i] ? el('div', { class: 'soft' }, model.texts[i].slice(0, 160)) : null),
      el('td', { class: cell.s === 'Failed' || cell.s === 'Rejected' ? 'bad' : null }, cell.s),
      el('td', { class: 'soft' }, cell.t ? ago(cell.t).replace(' ago', '') : '–'), el('td', {}, cell.w || '–'));
  }

  return { element, show: (model, filter) => { last = { model, filter }; render(); } };
}
