// What lies ahead: the plan as waves on the map, and a simulation as a distribution.

import { get, pathOf, post } from './api.js';
import { age, el, fill, plural } from './dom.js';

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

const fields = [
  ['fail', 'Clusters that fail, %', 2, 0, 100], ['hang', 'That hang, %', 0, 0, 100], ['offline', 'Offline, %', 0, 0, 100], ['slow', 'Slow, %', 5, 0, 100],
  ['applySeconds', 'Median time, s', 60, 1, 86400], ['spread', 'Spread', 0.5, 0, 3], ['seed', 'Seed', 1, 0, 1e9],
];

export function simulatePanel({ namespace, name, close }) {
  const inputs = Object.fromEntries(fields.map(([key, , value, min, max]) => [key,
    el('input', { type: 'number', name: key, value, min, max, step: key === 'spread' ? '0.1' : '1', required: true })]));
  const content = el('div');
  const run = el('button', { type: 'submit' }, 'Simulate');
  const form = el('form', { onsubmit: (event) => { event.preventDefault(); start(); } },
    el('div', { class: 'form' }, fields.map(([key, label]) => el('label', {}, label, inputs[key]))), run);
  const end = new AbortController();
  const element = panelOf('Simulate', close,
    el('p', { class: 'soft' }, 'The hub’s own decision code rolls the template in the spec out to these clusters, in memory. Nothing is written.'), form, content);

  async function start() {
    run.disabled = true;
    fill(content, el('p', { class: 'soft', role: 'status' }, 'Simulating for a few seconds …'));
    try {
      const body = Object.fromEntries(Object.entries(inputs).map(([key, input]) => [key, Number(input.value)]));
      const found = await post(pathOf(namespace, name, 'simulate'), body, end.signal);
      if (!end.signal.aborted) result(found);
    } catch (error) {
      if (!end.signal.aborted) fill(content, el('p', { class: 'bad', role: 'alert' }, error.message));
    }
    run.disabled = false;
  }

  function result(found) {
    fill(content,
      el('p', {}, found.text), found.notes.map((note) => el('p', { class: 'warn' }, note)),
      histogram('Clusters that ran the new revision', found.exposed, (v) => String(Math.round(v))),
      histogram('Duration', found.duration, age));
  }

  return { element, end: () => end.abort() };
}

const svg = (tag, attributes) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
};

// histogram draws how often each value came, with the bar of the median in another color.
function histogram(label, of, format) {
  const most = Math.max(1, ...of.bins);
  const width = (of.high - of.low) / of.bins.length || 1;
  const text = `${label}: median ${format(of.p50)}, 95% of the runs at most ${format(of.p95)}, from ${format(of.low)} to ${format(of.high)}`;
  const picture = svg('svg', { viewBox: `0 0 ${of.bins.length * 10} 100`, preserveAspectRatio: 'none', class: 'histogram', role: 'img', 'aria-label': text });
  of.bins.forEach((count, i) => {
    const isMedian = of.p50 >= of.low + i * width && (of.p50 < of.low + (i + 1) * width || i === of.bins.length - 1);
    picture.append(svg('rect', { x: i * 10 + 0.5, width: 9, y: 100 - (count / most) * 96, height: (count / most) * 96, class: isMedian ? 'p50' : '' }));
  });
  return el('div', {}, el('h3', {}, label), el('p', {}, `Median ${format(of.p50)}; 95% of the runs at most ${format(of.p95)}.`), picture,
    el('div', { class: 'axis' }, el('span', {}, format(of.low)), el('span', {}, format(of.high))));
}
