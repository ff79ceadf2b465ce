// The filters: by state in the legend, by name, and by a cause.

import { el, fill } from './dom.js';
import { phaseIndex, phases, swatch } from './phases.js';

export function filters({ changed }) {
  const wanted = new Set();
  let cause = '';
  let caused = new Set();
  const legend = el('ul', { class: 'legend', 'aria-label': 'Legend: filter by state' });
  const search = el('input', { type: 'search', id: 'search', 'aria-label': 'Filter by cluster name', placeholder: 'Cluster name (press /)', oninput: () => changed() });

  function toggle(index) {
    if (!wanted.delete(index)) wanted.add(index);
    changed();
  }

  return {
    legend,
    search,
    count: (head) => {
      const found = head.causes.find((c) => keyOf(c) === cause);
      if (!found) cause = '';
      caused = new Set(found?.clusters);
      fill(legend, phases.map((phase, i) => (head.counts[phase.name] || wanted.has(i) ? el('li', { key: phase.name },
        el('button', { type: 'button', 'aria-pressed': String(wanted.has(i)), title: phase.text, onclick: () => toggle(i) },
          swatch(i), phase.word, ' ', el('b', {}, head.counts[phase.name] ?? 0))) : null)));
    },
    toggleCause: (c) => { cause = cause === keyOf(c) ? '' : keyOf(c); changed(); },
    hasCause: (c) => cause === keyOf(c),
    active: () => wanted.size > 0 || search.value.trim() !== '' || cause !== '',
    shows: (cell) => (wanted.size === 0 || wanted.has(phaseIndex(cell.state))) && cell.name.includes(search.value.trim())
      && (cause === '' || caused.has(cell.name)),
    focus: () => search.focus(),
  };
}

// keyOf returns a key that identifies a cause across updates.
export function keyOf(cause) { return `${cause.state} ${cause.reason ?? ''} ${cause.message}`; }
