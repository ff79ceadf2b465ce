// The explanation of a cluster's state.

import { get, pathOf } from './api.js';
import { panelOf } from './ahead.js';
import { el, fill, since, time, until, words } from './dom.js';

export function whyPanel(namespace, name, cluster, close, act) {
  const content = el('div', {}, el('p', { class: 'soft' }, 'Reading …'));
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
      el('p', {}, el('b', {}, words(c.state)), c.since ? ` for ${since(c.since)}` : '', c.wrote ? ` · the hub wrote revision ${c.wrote}, ${c.confirmed ? 'confirmed by the agent' : 'not confirmed by the agent'}` : ''),
      story.future?.length ? [el('h3', {}, 'Next'), el('ul', {}, story.future.map((fact) => el('li', {}, fact.at ? `in ${until(fact.at)}: ` : '', fact.text)))] : null,
      story.assumed ? el('p', { class: 'soft' }, `Assumed: ${story.assumed}.`) : null,
      el('h3', {}, 'Until now'), el('ol', {}, (story.past ?? []).map((fact) => el('li', {}, fact.at ? [time(fact.at), ' '] : null, fact.text))),
      c.state === 'Failed' ? act.clusterButton(cluster) : null);
  }

  read();
  return {
    element: panelOf(cluster, close, content),
    changed: (model) => {
      const now = JSON.stringify(model.cells.find((other) => other.name === cluster) ?? null);
      if (now !== last) { last = now; read(); }
    },
    end: () => { ended = true; },
  };
}
