// Why a cluster is where it is.

import { get, pathOf } from './api.js';
import { ago, el, fill, left, time } from './dom.js';

export function whyPanel(namespace, name, cluster, close, act) {
  const content = el('div', {}, el('p', { class: 'soft' }, 'Reading …'));
  const title = el('h2', { tabindex: '-1' }, cluster);
  const element = el('section', { class: 'panel', 'aria-label': `Why ${cluster}` },
    el('div', { class: 'bar' }, title, el('span', { class: 'gap' }), el('button', { type: 'button', onclick: close }, 'Close')), content);
  let last = '';
  let ended = false;

  async function read() {
    try {
      const story = await get(pathOf(namespace, name, 'why', cluster));
      if (!ended) draw(story);
    } catch (error) {
      if (!ended) fill(content, el('p', { class: 'bad' }, error.message));
    }
  }

  function draw(story) {
    const c = story.cluster;
    fill(content,
      el('p', {}, el('b', {}, c.s), c.t ? ` for ${ago(c.t).replace(' ago', '')}` : '', c.w ? ` · the hub wrote revision ${c.w}, ${c.c ? 'confirmed by the agent' : 'not confirmed by the agent'}` : ''),
      el('ol', {}, story.past.map((fact) => el('li', {}, fact.at ? [time(fact.at), ' '] : null, fact.text))),
      story.future.length ? [el('h3', {}, 'Next'), el('ul', {}, story.future.map((fact) => el('li', {}, fact.at ? `${left(fact.at)}: ` : '', fact.text)))] : null,
      story.assumed ? el('p', { class: 'soft' }, `Assumed: ${story.assumed}.`) : null,
      c.s === 'Failed' ? act.clusterButton(cluster) : null);
  }

  read();
  return {
    element,
    changed: (model) => {
      const cell = model.cells.find((other) => other.n === cluster);
      const now = JSON.stringify(cell ?? null);
      if (now !== last) { last = now; read(); }
    },
    end: () => { ended = true; },
  };
}
