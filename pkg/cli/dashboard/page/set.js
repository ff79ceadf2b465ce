// One ManifestWorkReplicaSet: its state, what comes next, the map, the history, and the actions.

import { blob, follow, pathOf } from './api.js';
import { actions } from './act.js';
import { planPanel } from './ahead.js';
import { clusterList } from './clusters.js';
import { announce, el, fill, now, plural, since, until, words } from './dom.js';
import { filters, keyOf } from './filters.js';
import { history } from './history.js';
import { FleetMap } from './map.js';
import { phaseIndex, phases, swatch } from './phases.js';
import { whyPanel } from './why.js';

// namesShown is the number of clusters that are named for each cause.
const namesShown = 6;

// Model is the last state from the server.
class Model {
  head = null;

  groups = [];

  cells = [];

  // apply applies a picture, and returns the indices of the cells whose states have changed; null if the cells themselves have changed.
  apply({ head, groups }) {
    const before = this.cells;
    const shape = JSON.stringify(this.groups);
    this.head = { causes: [], revisions: [], bars: [], notes: [], ...head };
    this.groups = groups.map(({ placement, name, clusters }) => ({ placement, name, size: clusters.length }));
    this.cells = groups.flatMap((group) => group.clusters);
    if (shape !== JSON.stringify(this.groups) || this.cells.some((cell, i) => cell.name !== before[i].name)) return null;
    return [...this.cells.keys()].filter((i) => this.cells[i].state !== before[i].state);
  }

  // counts returns how many clusters of a placementRef are in each state.
  counts(placement) {
    const counts = new Array(phases.length).fill(0);
    for (const cell of this.cells) if (cell.placement === placement) counts[phaseIndex(cell.state)]++;
    return counts;
  }
}

export function setView(main, context, namespace, name) {
  const model = new Model();
  const end = new AbortController();
  const act = actions({ namespace, name, context, announce });
  const head = el('div', { class: 'head' });
  const toolbar = el('div', { class: 'bar actions', role: 'toolbar', 'aria-label': 'Actions' });
  const bars = el('div', { class: 'progress' });
  const causes = el('section', { class: 'card', 'aria-label': 'Causes' });
  const mapHost = el('div', { class: 'map' });
  const panelHost = el('div', { id: 'panel' });
  const past = el('section', { class: 'card', 'aria-label': 'History' });
  const map = new FleetMap(mapHost, { describe, choose: (i) => choose(model.cells[i].name) });
  const filter = filters({ changed: () => refresh() });
  const list = clusterList({ choose });
  const tool = (verb, label, onclick) => el('button', { type: 'button', 'data-verb': verb, onclick }, label);
  const ahead = {
    namespace, name, close: closePanel,
    waves: (byName) => map.showWaves(byName && Uint16Array.from(model.cells, (cell) => byName.get(cell.name) ?? 0)),
  };
  const view = el('div', { class: 'set' },
    el('section', { class: 'card wide', id: 'summary', 'aria-label': 'Summary' }, head, toolbar, bars, filter.legend),
    el('div', { class: 'column' }, causes, el('section', { class: 'card', 'aria-label': 'Clusters' },
      el('div', { class: 'bar' }, el('h2', {}, 'Clusters'), filter.search, el('span', { class: 'gap' }),
        tool('plan', 'Plan', () => openPanel(planPanel(ahead))),
        tool('report', 'Save report', saveReport)), mapHost, list.element)),
    el('div', { class: 'column' }, panelHost, past));
  let deleted = false;
  let said = '';
  let panel = null;

  function describe(i) {
    const cell = model.cells[i];
    const parts = [`${cell.name}: ${words(cell.state)}`];
    if (cell.since) parts.push(`for ${since(cell.since)}`);
    if (cell.wrote) parts.push(`revision ${cell.wrote}${cell.confirmed ? '' : ', not confirmed'}`);
    if (cell.then && cell.changesAt) parts.push(`${words(cell.then)} in ${until(cell.changesAt)}`);
    return [parts.join(' · '), cell.message].filter(Boolean).join(' — ');
  }

  function choose(cluster) {
    const at = model.cells.findIndex((cell) => cell.name === cluster);
    if (at < 0) return;
    openPanel(whyPanel(namespace, name, cluster, closePanel, act));
    map.select(at);
  }

  function openPanel(next) {
    panel?.end();
    panel = next;
    panelHost.replaceChildren(next.element);
    next.element.querySelector('h2')?.focus({ preventScroll: true });
    if (next.element.getBoundingClientRect().top > window.innerHeight - 80) next.element.scrollIntoView({ block: 'nearest' });
  }

  function closePanel() {
    const had = panel !== null;
    panel?.end();
    panel = null;
    panelHost.replaceChildren();
    if (had) map.canvas.focus({ preventScroll: true });
  }

  function drawHead() {
    const h = model.head;
    const { before, at, after, level } = h.headline;
    const update = h.revisions.find((r) => r.update);
    const alarm = Boolean(h.alarms?.length);
    const old = deleted ? 'The ManifestWorkReplicaSet was deleted. The page shows the last known state: ' : context.away ? 'This state may be out of date: ' : '';
    // If the headline is one of these facts, the list does not repeat it.
    const next = (h.then ?? []).filter((fact) => fact.at || `${fact.text}.`.toLowerCase() !== `${before}${after ?? ''}`.toLowerCase());
    const headline = [before, at ? el('b', {}, until(at)) : '', after ?? ''];
    fill(head,
      el('p', { class: 'line' }, el('span', { class: `chip ${old ? 'bad' : level}` }, old ? 'Not live' : alarm ? 'No hub is acting' : words(h.state)),
        el('span', { class: 'soft' }, [h.since && `${old || alarm ? `${words(h.state)} ` : ''}for ${since(h.since)}`, update && `revision ${update.number}`, update?.changeCause, update?.createdBy && `by ${update.createdBy}`]
          .filter(Boolean).join(' · '))),
      el('h2', { class: 'headline', id: 'headline', 'data-level': level }, old, headline),
      (h.alarms ?? []).map((alarm, i) => el('p', { class: 'bad' }, i ? `${alarm.text}. ` : '', `Remedy: ${alarm.remedy}`)),
      next.some((fact) => fact.at) ? el('p', { class: 'soft' }, 'If no cluster reports anything new:') : null,
      next.length ? el('ul', { class: 'then', 'aria-label': 'What comes next' }, next.map((fact) => el('li', {}, fact.at ? [el('b', {}, `in ${until(fact.at)}`), ': '] : '', fact.text))) : null,
      h.reachedText ? el('p', {}, `Reached: ${h.reachedText}.`) : null,
      h.notes.map((note) => el('p', { class: 'warn' }, note)),
      h.why ? el('details', {}, el('summary', {}, 'The hub’s message'), el('p', { class: 'soft' }, h.why)) : null);
  }

  // drawTimes draws the parts that contain times.
  function drawTimes() {
    drawHead();
    drawCauses(model.head);
    history(past, model.head, act, context.readOnly);
  }

  // drawBars draws a bar for each placementRef. Failures come first, so that they grow towards the limit.
  function drawBars() {
    const whole = model.head.bars.filter((bar) => !bar.group);
    fill(bars, whole.map((bar) => {
      const counts = model.counts(bar.placement);
      const total = counts.reduce((sum, n) => sum + n, 0);
      if (!total) return null;
      const text = phases.map((phase, i) => (counts[i] ? `${counts[i]} ${phase.word.toLowerCase()}` : '')).filter(Boolean).join(', ');
      return el('div', { key: bar.placement, role: 'img', 'aria-label': `${bar.placement}: ${text}${bar.limit ? `; ${bar.limitText}` : ''}` },
        el('div', { class: 'soft line' }, whole.length > 1 ? el('b', {}, bar.placement) : null, el('span', {}, bar.strategy)),
        el('div', { class: 'track' }, phases.map((phase, i) => (counts[i] ? swatchOf(i, counts[i]) : null))),
        bar.limit ? limit(bar, total) : null);
    }));
  }

  function swatchOf(i, n) {
    const part = swatch(i, { flexGrow: String(n) });
    part.key = phases[i].name;
    return part;
  }

  function limit(bar, total) {
    const share = Math.min(1, bar.limit / total);
    return el('div', { class: 'scale' }, el('span', { class: share > 0.5 ? 'limit right' : 'limit', style: { [share > 0.5 ? 'right' : 'left']: `${100 * (share > 0.5 ? 1 - share : share)}%` } }, bar.limitText));
  }

  function drawCauses(h) {
    causes.hidden = h.causes.length === 0;
    const wrong = h.causes.some((c) => phases[phaseIndex(c.state)].bad) ? (h.state.startsWith('Abort') ? 'What went wrong' : 'What is wrong') : 'What the clusters report';
    fill(causes, el('h2', {}, wrong), h.causes.map((c) => {
      const names = c.clusters;
      const times = [c.since && `for ${since(c.since)}`, c.changesAt && !h.alarms && `${names.length > 1 ? 'the first' : 'it'} ${c.then === 'Failed' ? 'fails' : `becomes ${words(c.then).toLowerCase()}`} in ${until(c.changesAt)}`].filter(Boolean);
      return el('div', { class: 'cause', key: keyOf(c) },
        el('b', { class: `count ${phases[phaseIndex(c.state)].bad ? 'bad' : ''}` }, names.length),
        el('div', { class: 'wrap' }, c.message.replace(/^\w+=\w+: /, '')),
        el('div', { class: 'soft' }, [`${words(c.state)}${c.reason && c.reason !== c.state ? ` (${words(c.reason).toLowerCase()})` : ''}`, ...times].join(', ')),
        el('div', { class: 'tags' }, names.slice(0, namesShown).map((cluster) => el('button', { type: 'button', class: 'tag', key: cluster, onclick: () => choose(cluster) }, cluster)),
          names.length > 1 ? el('button', { type: 'button', class: 'tag', key: '', 'aria-pressed': String(filter.hasCause(c)), onclick: () => filter.toggleCause(c) },
            names.length > namesShown ? `and ${names.length - namesShown} more` : 'on the map') : null));
    }));
  }

  // refresh draws the parts that depend on the filter.
  function refresh() {
    filter.count(model.head);
    map.filter(filter.active() ? (i) => filter.shows(model.cells[i]) : null);
    list.show(model, filter);
    drawCauses(model.head);
    const counts = phases.filter((phase) => model.head.counts[phase.name]).map((phase) => `${model.head.counts[phase.name]} ${phase.word}`);
    map.canvas.setAttribute('aria-label', `Map of ${plural(model.cells.length, 'cluster')}: ${counts.join(', ')}. Arrow keys select a cluster, Enter explains it.`);
  }

  async function saveReport() {
    try {
      const url = URL.createObjectURL(await blob(pathOf(namespace, name, 'report')));
      el('a', { href: url, download: `${namespace}-${name}.html` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60000);
      announce('The report was saved.');
    } catch (error) {
      context.fail(error.message);
    }
  }

  // tell announces the headline if more than its numbers has changed. Otherwise, a screen reader would read it all the time.
  function tell() {
    const { before, at, after } = model.head.headline;
    const now = [model.head.state, before, after].join(' ').replace(/\d+/g, '');
    if (said && said !== now) announce(`${words(model.head.state)}. ${before}${at ? until(at) : ''}${after ?? ''}`);
    said = now;
  }

  function update(data) {
    const first = !model.head;
    const changed = model.apply(data);
    if (first) main.replaceChildren(view);
    if (changed === null) map.set(model.groups, model.cells.map((cell) => cell.name), Uint8Array.from(model.cells, (cell) => phaseIndex(cell.state)));
    else map.change(changed, changed.map((i) => phaseIndex(model.cells[i].state)));
    drawTimes();
    drawBars();
    fill(toolbar, act.buttons(model.head.offers));
    tell();
    refresh();
    panel?.changed?.(model);
  }

  main.replaceChildren(el('p', { class: 'soft' }, `Reading ${namespace}/${name} …`));
  const timer = setInterval(() => { if (model.head) drawTimes(); }, 1000);
  follow(pathOf(namespace, name, 'picture'), end.signal, (news) => {
    context.on(news);
    if (news.data) {
      deleted = false;
      update(news.data);
    }
    if (news.deleted && model.head) {
      deleted = true;
      toolbar.replaceChildren();
      drawHead();
    } else if (news.error && !model.head) main.replaceChildren(el('p', {}, el('a', { href: '#/' }, 'Back to the list')));
  });
  window.dashboard = { map, model, now }; // For the developer tools.
  return {
    end: () => { end.abort(); clearInterval(timer); panel?.end(); act.end(); },
    search: () => filter.focus(),
    escape: closePanel,
    key: (event) => {
      const run = { m: () => map.canvas.focus(), p: () => openPanel(planPanel(ahead)) }[event.key];
      if (run && model.head) { event.preventDefault(); run(); }
    },
  };
}
