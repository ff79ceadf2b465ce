// One ManifestWorkReplicaSet: the map, what is known about it, and what can be done.

import { blob, pathOf, stream } from './api.js';
import { actions } from './act.js';
import { planPanel, simulatePanel } from './ahead.js';
import { clusterList } from './clusters.js';
import { age, ago, announce, el, fill, left, now, plural, show } from './dom.js';
import { filters } from './filters.js';
import { stateClass } from './list.js';
import { FleetMap } from './map.js';
import { phaseIndex, phases } from './phases.js';
import { Recording } from './recording.js';
import { scrubber } from './scrubber.js';
import { history } from './timeline.js';
import { whyPanel } from './why.js';

// Model is what the server told last.
class Model {
  head = null;

  groups = [];

  cells = [];

  texts = [];

  // apply takes an update over, and returns the indices of the changed cells; null for a new whole.
  apply(update) {
    if (update.head) this.head = update.head;
    const text = (k) => (update.text[k] ? update.texts[update.text[k] - 1] : '');
    if (update.whole) {
      this.groups = update.groups ?? [];
      this.cells = update.cells;
      this.texts = update.cells.map((_, k) => text(k));
      return null;
    }
    const index = update.index ?? [];
    index.forEach((i, k) => { this.cells[i] = update.cells[k]; this.texts[i] = text(k); });
    return index;
  }
}

export function setView(main, context, namespace, name) {
  const model = new Model();
  const recording = new Recording();
  const seen = [];
  const head = el('div', { class: 'head' });
  const mapHost = el('div', { class: 'map' });
  const panelHost = el('div', { id: 'panel' });
  const replayNote = el('p', { class: 'replay', hidden: true, role: 'status' });
  const past = el('section', { class: 'panel wide', 'aria-label': 'History' });
  let replay = null; // What the map shows instead of the present: a moment, or a film.
  let end = new AbortController();

  const map = new FleetMap(mapHost, { describe, choose: (i) => choose(cellName(i)) });
  const filter = filters({ changed: () => refresh() });
  const list = clusterList({ choose });
  const scrub = scrubber({ recording, moment: showMoment });
  const act = actions({ namespace, name, context, announce });
  const toolbar = el('div', { class: 'bar', role: 'toolbar', 'aria-label': 'Actions' });
  const view = el('div', { class: 'set' },
    el('div', { class: 'wide' }, head), el('div', { class: 'wide' }, toolbar),
    el('div', {}, filter.element, replayNote, mapHost, scrub.element),
    el('div', { class: 'side' }, panelHost, el('section', { class: 'panel', 'aria-label': 'Clusters' }, list.element)), past);

  function cellName(i) { return (replay ?? present()).names[i]; }

  function present() { return { names: model.cells.map((cell) => cell.n) }; }

  function describe(i) {
    if (replay) return `${replay.names[i]}: ${phases[replay.states[i]].name}`;
    const cell = model.cells[i];
    const parts = [`${cell.n}: ${cell.s}`];
    if (cell.t) parts.push(`for ${ago(cell.t).replace(' ago', '')}`);
    if (cell.w) parts.push(`revision ${cell.w}${cell.c ? '' : ', not confirmed'}`);
    if (cell.x && cell.a) parts.push(`${cell.x} ${left(cell.a)}`);
    return [parts.join(' · '), model.texts[i]].filter(Boolean).join(' — ');
  }

  function choose(cluster) {
    if (!model.cells.some((cell) => cell.n === cluster)) return;
    openPanel(whyPanel(namespace, name, cluster, closePanel, act));
    map.select(model.cells.findIndex((cell) => cell.n === cluster));
  }

  let panel = null;

  function openPanel(next) {
    panel?.end?.();
    panel = next;
    fill(panelHost, next.element);
    next.element.querySelector('h2')?.focus();
    if (next.element.getBoundingClientRect().top > window.innerHeight - 80) next.element.scrollIntoView({ block: 'nearest' });
  }

  function closePanel() {
    const had = panel !== null;
    panel?.end?.();
    panel = null;
    fill(panelHost);
    map.showWaves(null);
    if (had) map.canvas.focus({ preventScroll: true });
  }

  // showMoment shows a moment of the recording or of a film; null returns to the present.
  function showMoment(moment, note = '') {
    const before = replay;
    replay = moment;
    replayNote.hidden = !moment;
    show(replayNote, note);
    if (moment) map.set(moment.groups, moment.names, Uint8Array.from(moment.states));
    else if (before) draw();
  }

  const ahead = {
    namespace, name, close: () => { showMoment(null); closePanel(); }, film: showMoment,
    waves: (byName) => map.showWaves(byName && Uint16Array.from(model.cells, (cell) => byName.get(cell.n) ?? 0)),
    model,
  };

  function draw() {
    map.set(model.groups, model.cells.map((cell) => cell.n), Uint8Array.from(model.cells, (cell) => phaseIndex(cell.s)));
    refresh();
  }

  // refresh draws what depends on the filter.
  function refresh() {
    filter.count(model);
    if (!replay) map.filter(filter.active() ? (i) => filter.shows(model.cells[i]) : null);
    list.show(model, filter);
  }

  function labelMap() {
    const counts = phases.filter((phase) => model.head.counts[phase.name]).map((phase) => `${model.head.counts[phase.name]} ${phase.name}`);
    map.canvas.setAttribute('aria-label', `Map of ${plural(model.cells.length, 'cluster')}: ${counts.join(', ')}. Arrow keys select a cluster, Enter explains it.`);
  }

  function drawHead() {
    const h = model.head;
    const estimate = h.estimate && `Expected end: ${left(h.estimate.rollout)}, and of this wave: ${left(h.estimate.wave)}, if the other clusters take as long as the ${h.estimate.clusters} that succeeded (median ${age(h.estimate.eachSeconds)}).`;
    fill(head,
      (h.alarms ?? []).map((alarm) => el('p', { class: 'bad', role: 'alert' }, el('b', {}, alarm.text), ` Remedy: ${alarm.remedy}`)),
      el('div', { class: 'line' }, el('span', { class: `state ${stateClass[h.state] ?? ''}` }, h.state), el('span', { class: 'summary' }, h.summary),
        h.since ? el('span', { class: 'soft' }, `since ${ago(h.since)}`) : null),
      h.why ? el('p', {}, h.why) : null,
      h.then?.length ? el('ul', { 'aria-label': 'What comes next' }, h.then.map((fact) => el('li', {}, el('b', {}, fact.at ? left(fact.at) : 'now'), `: ${fact.text}`))) : null,
      h.reached ? el('p', { class: 'bad' }, h.reached) : null,
      estimate ? el('p', {}, estimate) : null,
      h.notes.map((note) => el('p', { class: 'warn' }, note)),
      h.bars.filter((bar) => !bar.Group).map((bar) => el('p', { class: 'soft' }, `${bar.Placement}: ${bar.Done}/${bar.Total}, ${bar.Strategy}`)));
  }

  function drawToolbar() {
    const saved = document.activeElement?.dataset?.verb;
    fill(toolbar, act.buttons(model.head.offers), el('span', { class: 'gap' }),
      el('button', { type: 'button', 'data-verb': 'plan', onclick: () => openPanel(planPanel(ahead)) }, 'Plan'),
      el('button', { type: 'button', 'data-verb': 'simulate', onclick: () => openPanel(simulatePanel(ahead)) }, 'Simulate'),
      el('button', { type: 'button', 'data-verb': 'report', onclick: saveReport }, 'Save report'));
    if (saved) toolbar.querySelector(`[data-verb="${saved}"]`)?.focus();
  }

  async function saveReport() {
    try {
      const url = URL.createObjectURL(await blob(pathOf(namespace, name, 'report')));
      el('a', { href: url, download: `${namespace}-${name}.html` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60000);
      announce('The report was saved.');
    } catch (error) {
      context.on('problem', { error: error.message });
    }
  }

  function notice(before, after, at) {
    const note = (text, bad) => seen.push({ at: Math.floor(at / 1000), text, bad, seen: true });
    if (!before) note(`this page was opened: ${after.state}, ${after.summary}`);
    else if (before.state !== after.state) {
      note(`this page saw the state change from ${before.state} to ${after.state}`, stateClass[after.state] === 'bad');
      announce(`${after.state}. ${after.summary}`);
    }
  }

  function update(data) {
    const first = !model.head;
    const before = model.head;
    const changed = model.apply(data);
    if (data.head) notice(before, data.head, data.at);
    if (changed === null) recording.whole(data.at, model);
    else recording.push(data.at, changed, model);
    if (first) fill(main, view);
    if (!replay) {
      if (changed === null || first) draw();
      else map.change(changed, changed.map((i) => phaseIndex(model.cells[i].s)));
    }
    if (data.head) {
      drawHead();
      drawToolbar();
      history(past, namespace, name, model.head, seen, act, context.readOnly);
    }
    labelMap();
    refresh();
    scrub.grew();
    panel?.changed?.(model);
    document.body.dataset.updates = String(recording.count);
  }

  fill(main, el('p', { class: 'soft' }, `Reading ${namespace}/${name} …`));
  const timer = setInterval(() => { if (model.head) drawHead(); }, 10000);
  stream(pathOf(namespace, name, 'stream'), end.signal, (event, data) => {
    context.on(event, data);
    if (event === 'update') update(data);
    if (event === 'problem' && data.deleted && model.head) {
      replayNote.hidden = false;
      show(replayNote, 'The ManifestWorkReplicaSet was deleted. The page shows what it saw last.');
      fill(toolbar);
    } else if (event === 'problem' && !model.head) fill(main, el('p', {}, el('a', { href: '#/' }, 'Back to the list')));
  }, context.disconnected);
  window.dashboard = { map, model, recording, now }; // For the developer tools.
  return {
    end: () => { end.abort(); end = null; clearInterval(timer); panel?.end?.(); scrub.end(); act.end(); },
    search: () => filter.focus(),
    escape: () => { if (replay) { scrub.live(); showMoment(null); } closePanel(); },
    key: (event) => {
      const run = { m: () => map.canvas.focus(), p: () => openPanel(planPanel(ahead)), s: () => openPanel(simulatePanel(ahead)) }[event.key];
      if (run && model.head) { event.preventDefault(); run(); }
    },
  };
}
