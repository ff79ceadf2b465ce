// The map: a cell for each cluster, on one canvas. Cells show names if they fit. After a change only the changed cells are drawn again.

import { announce } from './dom.js';
import { colorsNow, numbered, phases, phaseIndex, sprite } from './phases.js';

const smallest = 4;
const groupGap = 10;
// mostNamed is the maximum number of cells with names, and mostTold is the maximum number of cells that also show their states as words.
const mostNamed = 400;
const mostTold = 48;

export class FleetMap {
  constructor(host, { describe, choose }) {
    this.host = host;
    this.describe = describe;
    this.choose = choose;
    this.canvas = document.createElement('canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'application');
    this.canvas.setAttribute('aria-roledescription', 'map of the clusters');
    this.tip = document.createElement('div');
    this.tip.className = 'tip';
    this.tip.hidden = true;
    host.append(this.canvas, this.tip);
    this.groups = [];
    this.names = [];
    this.states = new Uint8Array();
    this.dim = null;
    this.waves = null;
    this.selected = -1;
    this.boxes = [];
    this.listen();
  }

  listen() {
    new ResizeObserver(() => this.resized()).observe(this.host);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.sprites = null; this.draw(); });
    this.canvas.addEventListener('pointermove', (event) => this.hover(this.hit(event.offsetX, event.offsetY)));
    this.canvas.addEventListener('pointerleave', () => this.hover(-1));
    this.canvas.addEventListener('click', (event) => this.pick(this.hit(event.offsetX, event.offsetY)));
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    this.canvas.addEventListener('blur', () => this.hover(-1));
  }

  // set replaces the clusters. Groups are {placement, name, size}; states are indices of phases.
  set(groups, names, states) {
    this.groups = groups;
    this.names = names;
    this.states = states;
    this.selected = Math.min(this.selected, names.length - 1);
    this.layout();
    this.draw();
  }

  // change changes the states of some cells.
  change(index, states) {
    index.forEach((i, k) => { this.states[i] = states[k]; });
    const c = this.canvas.getContext('2d');
    index.forEach((i) => this.cell(c, i));
    this.labels(c);
    this.outline(c);
  }

  // filter dims the cells for which a function is false; null shows all.
  filter(shows) {
    if (!shows && !this.dim) return;
    this.dim = shows && Uint8Array.from(this.names, (_, i) => (shows(i) ? 0 : 1));
    this.draw();
  }

  // showWaves numbers the cells: 0 for none. null removes the numbers.
  showWaves(waves) {
    this.waves = waves;
    this.draw();
  }

  resized() {
    if (this.host.clientWidth !== this.width) {
      this.layout();
      this.draw();
    }
  }

  // layout selects the most detailed cells with which all groups fit onto the screen: names and states, names, or squares.
  layout() {
    this.width = Math.max(120, this.host.clientWidth);
    this.ratio = window.devicePixelRatio || 1;
    this.rem = parseFloat(getComputedStyle(document.documentElement).fontSize) || 15;
    this.label = Math.round(this.rem * 1.7);
    const room = Math.max(260, window.innerHeight - 12 * this.rem);
    const named = this.namedCells(1.9, []);
    const told = this.namedCells(2.9, phases.map((phase) => phase.word).filter((_, i) => this.states.includes(i)));
    let shapes = this.groups.map(() => told);
    if (this.names.length > mostTold || this.heightOf(shapes) > room) shapes = this.groups.map(() => named);
    if (this.names.length > mostNamed || this.heightOf(shapes) > room) shapes = this.squares(room, named);
    this.place(shapes);
    this.height = this.heightOf(shapes);
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.sprites = null;
  }

  // namedCells returns cells of a height that have room for each name and for some words, and fill the width.
  namedCells(height, words) {
    const c = this.canvas.getContext('2d');
    c.font = this.font('600');
    const texts = this.names.length > mostNamed ? words : [...this.names, ...words];
    const longest = Math.max(0, ...texts.map((text) => c.measureText(text).width));
    const h = Math.round(this.rem * height);
    const columns = Math.max(1, Math.min(Math.max(1, ...this.groups.map((group) => group.size)), Math.floor(this.width / (longest + h + 1.2 * this.rem))));
    return { columns, w: this.width / columns, h, named: true };
  }

  // squares returns the largest squares that fit. Small groups show names if there is room for that, too.
  squares(room, named) {
    const of = (size) => ({ columns: Math.max(1, Math.floor(this.width / size)), w: size, h: size, named: false });
    let size = Math.round(this.rem * 2.2);
    while (size > smallest && this.heightOf(this.groups.map(() => of(size))) > room) size--;
    this.size = size;
    const shapes = this.groups.map(() => of(size));
    const bySize = this.groups.map((group, i) => i).sort((a, b) => this.groups[a].size - this.groups[b].size);
    for (const i of bySize) {
      if (this.groups[i].size > mostTold) break;
      shapes[i] = named;
      if (this.heightOf(shapes) > room) { shapes[i] = of(size); break; }
    }
    return shapes;
  }

  heightOf(shapes) {
    return this.groups.reduce((sum, group, i) => sum + this.label + groupGap + Math.ceil(group.size / shapes[i].columns) * shapes[i].h, 0) || this.label;
  }

  place(shapes) {
    this.boxes = [];
    let top = 0;
    let from = 0;
    this.groups.forEach((group, i) => {
      const shape = shapes[i];
      const bottom = top + this.label + Math.ceil(group.size / shape.columns) * shape.h;
      this.boxes.push({ ...shape, from, to: from + group.size, top: top + this.label, bottom, group });
      from += group.size;
      top = bottom + groupGap;
    });
  }

  font(weight, ratio = 1) { return `${weight} ${this.rem * 0.87 * ratio}px system-ui, sans-serif`; }

  boxOf(i) { return this.boxes.find((box) => i < box.to); }

  // at returns the position of a cell.
  at(i) {
    const box = this.boxOf(i);
    const k = i - box.from;
    return { box, x: (k % box.columns) * box.w, y: box.top + Math.floor(k / box.columns) * box.h };
  }

  hit(x, y) {
    const box = this.boxes.find((b) => y >= b.top && y < b.bottom);
    if (!box) return -1;
    const column = Math.floor(x / box.w);
    if (column >= box.columns || column < 0) return -1;
    const i = box.from + Math.floor((y - box.top) / box.h) * box.columns + column;
    return i < box.to ? i : -1;
  }

  // gapOf returns the gap between cells: wide enough to be visible, or zero for the smallest cells.
  gapOf(box) { return box.named ? 4 : box.h >= 12 ? 2 : box.h >= 6 ? 1 : 0.5; }

  prepare() {
    if (this.sprites) return;
    this.colors = colorsNow();
    this.sprites = new Map();
  }

  // sprite returns the picture of a state, or of a wave, as a square.
  sprite(box, state, wave) {
    const size = Math.max(1, Math.round((box.h - this.gapOf(box)) * this.ratio));
    const key = `${size} ${state} ${wave}`;
    if (!this.sprites.has(key)) this.sprites.set(key, wave ? numbered(wave, size, this.colors) : sprite(state, size, this.colors));
    return this.sprites.get(key);
  }

  cell(c, i) {
    this.prepare();
    const { box, x, y } = this.at(i);
    const [left, top] = [Math.round(x * this.ratio), Math.round(y * this.ratio)];
    const [wide, high] = [Math.ceil(box.w * this.ratio), Math.ceil(box.h * this.ratio)];
    const wave = this.waves ? this.waves[i] : 0;
    c.globalAlpha = 1;
    c.fillStyle = this.colors.back;
    c.fillRect(left, top, wide, high);
    c.globalAlpha = this.dim?.[i] || this.waves && !wave ? 0.18 : 1;
    const picture = this.sprite(box, wave ? 0 : this.states[i], wave);
    if (box.named) this.name(c, i, box, left, top, picture);
    c.drawImage(picture, left, top);
    c.globalAlpha = 1;
  }

  // name draws the name beside a cell, and the state if there is room. A cluster that needs attention has its color as the background.
  name(c, i, box, left, top, picture) {
    const state = this.states[i];
    const { bad, word } = phases[state];
    const gap = this.gapOf(box) * this.ratio;
    const [wide, high] = [Math.round(box.w * this.ratio - gap), picture.height];
    const alpha = c.globalAlpha;
    c.fillStyle = this.colors.fill[state];
    if (!bad) c.globalAlpha = alpha * 0.16;
    c.fillRect(left, top, wide, high);
    c.globalAlpha = alpha;
    c.fillStyle = bad ? this.colors.ink[state] : this.colors.text;
    c.textAlign = 'left';
    c.textBaseline = 'middle';
    const at = left + picture.width + 0.5 * this.rem * this.ratio;
    const room = left + wide - at - 2 * this.ratio;
    const told = box.h > 2.5 * this.rem;
    c.font = this.font(told ? '600' : '', this.ratio);
    c.fillText(cut(c, this.names[i], room), at, top + high * (told ? 0.32 : 0.53));
    if (!told) return;
    c.font = this.font('', this.ratio);
    c.fillText(cut(c, word, room), at, top + high * 0.72);
  }

  draw() {
    const begin = performance.now();
    const c = this.canvas.getContext('2d');
    this.prepare();
    c.fillStyle = this.colors.back;
    c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    for (let i = 0; i < this.names.length; i++) this.cell(c, i);
    this.labels(c);
    this.outline(c);
    this.took = performance.now() - begin;
  }

  labels(c) {
    c.textBaseline = 'alphabetic';
    c.textAlign = 'left';
    const room = this.width * this.ratio;
    for (const box of this.boxes) {
      c.fillStyle = this.colors.back;
      c.fillRect(0, Math.round((box.top - this.label) * this.ratio), this.canvas.width, Math.round(this.label * this.ratio));
      const y = Math.round((box.top - this.label * 0.34) * this.ratio);
      const { placement, name } = box.group;
      const label = [name && this.groups.every((group) => group.placement === placement) ? '' : placement, name].filter(Boolean).join(' / ') || 'clusters';
      c.font = this.font('600', this.ratio);
      c.fillStyle = this.colors.text;
      c.fillText(cut(c, label, room * 0.6), 0, y);
      const wide = Math.min(c.measureText(label).width, room * 0.6) + 8 * this.ratio;
      c.font = this.font('', this.ratio);
      c.fillStyle = this.colors.soft;
      c.fillText(cut(c, this.countsOf(box), room - wide), wide, y);
    }
  }

  // countsOf returns how many clusters of a group have succeeded, and how many need attention.
  countsOf(box) {
    const counts = new Array(phases.length).fill(0);
    for (let i = box.from; i < box.to; i++) counts[this.states[i]]++;
    const bad = phases.map((phase, i) => (phase.bad && counts[i] ? `${counts[i]} ${phase.word.toLowerCase()}` : '')).filter(Boolean);
    return [...bad, `${counts[phaseIndex('Succeeded')]} of ${box.to - box.from} succeeded`].join(' · ');
  }

  outline(c) {
    if (this.selected < 0 || this.selected >= this.names.length) return;
    const { box, x, y } = this.at(this.selected);
    const line = 2 * this.ratio;
    const gap = this.gapOf(box) * this.ratio;
    c.lineWidth = line;
    c.strokeStyle = this.colors.text;
    c.strokeRect(Math.round(x * this.ratio) + line / 2, Math.round(y * this.ratio) + line / 2,
      Math.round(box.w * this.ratio - gap) - line, Math.round(box.h * this.ratio - gap) - line);
  }

  hover(i) {
    this.tip.hidden = i < 0;
    if (i < 0) return;
    this.tip.textContent = this.describe(i);
    const { box, x, y } = this.at(i);
    this.tip.style.left = `${Math.max(0, Math.min(x, this.width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${y + box.h + 6}px`;
  }

  select(i) {
    const before = this.selected;
    this.selected = i;
    const c = this.canvas.getContext('2d');
    if (before >= 0 && before < this.names.length) this.cell(c, before);
    if (i >= 0) this.cell(c, i);
    this.outline(c);
  }

  pick(i) {
    if (i < 0) return;
    this.select(i);
    this.choose(i);
  }

  key(event) {
    const last = this.names.length - 1;
    const at = this.selected;
    const to = {
      ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last, ArrowDown: this.below(at, 1), ArrowUp: this.below(at, -1),
    }[event.key];
    if (to !== undefined && last >= 0) {
      event.preventDefault();
      const next = Math.max(0, Math.min(last, to));
      this.select(next);
      this.hover(next);
      announce(this.describe(next));
      return;
    }
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.pick(at);
    }
  }

  // below returns the cell in the next or the previous row, across group borders.
  below(at, by) {
    if (at < 0) return 0;
    const { box, x, y } = this.at(at);
    const row = this.hit(x + box.w / 2, y + box.h / 2 + by * box.h);
    if (row >= 0) return row;
    const other = this.boxes[this.boxes.indexOf(box) + by];
    if (!other) return by > 0 ? box.to - 1 : box.from;
    return by > 0 ? Math.min(other.to - 1, other.from + Math.floor((x + box.w / 2) / other.w)) : other.to - 1;
  }
}

function cut(c, text, room) {
  if (c.measureText(text).width <= room) return text;
  let short = text;
  while (short && c.measureText(`${short}…`).width > room) short = short.slice(0, -1);
  return `${short}…`;
}
