// The plan, as waves on the map.

import { get, pathOf } from './api.js';
import { el, fill, plural } from './dom.js';

// panelOf returns a panel that can be closed.
export function panelOf(label, close, ...children) {
  return el('section', { class: 'card panel', 'aria-label': label },
    el('div', { class: 'bar' }, el('h2', { tabindex: '-1' }, label), el('span', { class: 'gap' }), el('button', { type: 'button', onclick: close }, 'Close')), ...children);
}

export function planPanel({ namespace, name, close, waves }) {
  const content = el('div', {}, el('p', { class: 'soft' }, 'Reading …'));
  const element = panelOf('Plan', close, content);
  let ended = false;
  let last = '';

  async function read() {
    try {
      const plan = await get(pathOf(namespace, name, 'plan'));
      if (!ended) draw(plan);
    } catch (error) {
      if (!ended) { waves(null); fill(content, el('p', { class: 'bad' }, error.message)); }
    }
  }

  function draw(plan) {
    const byName = new Map();
    plan.waves.forEach((wave, i) => wave.parts.forEach((part) => part.clusters.forEach((cluster) => byName.set(cluster, i + 1))));
    waves(byName.size ? byName : null);
    fill(content, el('p', {}, `Waves: ${plan.text}.`),
      plan.notes.map((note) => el('p', { class: 'warn' }, note)),
      plan.waves.length ? el('p', { class: 'soft' }, 'The map shows the number of each cluster’s wave, if every cluster succeeds.') : null,
      el('ol', {}, plan.waves.slice(0, 30).map((wave) => el('li', {}, wave.parts.map((part, i) => [i ? '; ' : '', `${plural(part.clusters.length, 'cluster')} of ${[part.placement, part.group].filter(Boolean).join(' / ')}`])))),
      plan.waves.length > 30 ? el('p', {}, `and ${plan.waves.length - 30} more waves`) : null,
      plan.limits.length ? el('h3', {}, 'Limits') : null, el('ul', {}, plan.limits.map((limit) => el('li', {}, `Placement ${limit.placement}: ${limit.text}`))),
      plan.waiting.length ? el('h3', {}, 'Waiting') : null, el('ul', {}, plan.waiting.map((group) => el('li', {}, `${group.clusters.length} × ${group.state}: waits for ${group.text}`))));
  }

  read();
  return {
    element, end: () => { ended = true; waves(null); },
    changed: (model) => {
      const key = JSON.stringify([model.head.state, model.head.counts]);
      if (key !== last) { last = key; read(); }
    },
  };
}
