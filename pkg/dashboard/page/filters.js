// The legend, which counts and filters, and the filters by name and cause.

import { el, fill } from './dom.js';
import { colorsNow, phaseIndex, phases, swatch } from './phases.js';

export function filters({ changed }) {
  const wanted = new Set();
  const legend = el('ul', { class: 'legend', 'aria-label': 'Legend: filter by state' });
  const search = el('input', { type: 'search', id: 'search', 'aria-label': 'Filter by cluster name', placeholder: 'Cluster name (press /)', oninput: () => changed() });
  const cause = el('select', { 'aria-label': 'Filter by cause', onchange: () => changed() });
  const bar = el('div', { class: 'bar' }, search, cause);
  let shown = '';
  let causes = '';

  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { shown = ''; changed(); });

  function toggle(index) {
    if (!wanted.delete(index)) wanted.add(index);
    shown = '';
    changed();
  }

  function drawLegend(counts) {
    const key = JSON.stringify([counts, [...wanted]]);
    if (key === shown) return;
    shown = key;
    const colors = colorsNow();
    const focused = document.activeElement?.dataset?.phase;
    fill(legend, phases.map((phase, i) => (counts[phase.name] || wanted.has(i) ? el('li', {},
      el('button', { type: 'button', 'data-phase': phase.name, 'aria-pressed': String(wanted.has(i)), title: phase.text, onclick: () => toggle(i) },
        swatch(i, colors), el('span', {}, phase.name), ' ', el('b', {}, (counts[phase.name] ?? 0).toLocaleString()))) : null)));
    if (focused) legend.querySelector(`[data-phase="${focused}"]`)?.focus();
  }

  function drawCauses(list) {
    const key = JSON.stringify(list);
    if (key === causes) return;
    causes = key;
    const before = cause.value;
    fill(cause, el('option', { value: '' }, 'All causes'),
      list.map((c, i) => el('option', { value: String(i + 1) }, `${c.clusters} × ${c.reason}: ${c.message}`.slice(0, 120))));
    cause.value = [...cause.options].some((option) => option.value === before) ? before : '';
    cause.hidden = list.length === 0;
  }

  return {
    element: el('div', { class: 'head' }, legend, bar, el('p')),
    count: (model) => { drawLegend(model.head.counts); drawCauses(model.head.causes); },
    active: () => wanted.size > 0 || search.value.trim() !== '' || cause.value !== '',
    shows: (cell) => (wanted.size === 0 || wanted.has(phaseIndex(cell.s))) && cell.n.includes(search.value.trim())
      && (cause.value === '' || String(cell.r ?? 0) === cause.value),
    focus: () => search.focus(),
  };
}
