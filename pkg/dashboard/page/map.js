// The map: a cell for each cluster, on one canvas. It is drawn from sprites, and after a change only the changed cells are drawn again.

import { announce } from './dom.js';
import { colorsNow, numbered, phaseIndex, phases, sprite } from './phases.js';

const smallest = 4;
const groupGap = 6;

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

  // set shows other clusters. Groups are {placement, name, size}; states are indices of phases.
  set(groups, names, states) {
    const same = this.groups === groups && this.names.length === names.length;
    this.groups = groups;
    this.names = names;
    this.states = states;
    if (!same) {
      this.selected = Math.min(this.selected, names.length - 1);
      this.layout();
    }
    this.draw();
  }

  // change shows other states of some cells.
  change(index, states) {
    index.forEach((i, k) => { this.states[i] = states[k]; });
    const c = this.canvas.getContext('2d');
    index.forEach((i) => this.cell(c, i));
    this.labels(c);
    this.outline(c);
  }

  // filter dims the cells for which a function is false; null shows all.
  filter(shows) {
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

  // layout finds the largest cells with which all groups fit onto the screen, or the smallest ones.
  layout() {
    this.width = Math.max(120, this.host.clientWidth);
    const room = Math.max(220, window.innerHeight - 250);
    this.rem = parseFloat(getComputedStyle(document.documentElement).fontSize) || 15;
    this.label = Math.round(this.rem * 1.6);
    for (this.size = Math.round(Math.max(34, Math.min(90, this.width / 40))); this.size > smallest && this.heightAt(this.size) > room;) this.size--;
    this.columns = this.columnsAt(this.size);
    this.height = this.heightAt(this.size);
    const ratio = window.devicePixelRatio || 1;
    this.ratio = ratio;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.sprites = null;
    this.boxes = [];
    let top = 0;
    let from = 0;
    for (const group of this.groups) {
      const rows = Math.ceil(group.size / this.columns);
      this.boxes.push({ from, to: from + group.size, top: top + this.label, bottom: top + this.label + rows * this.size, group });
      from += group.size;
      top += this.label + rows * this.size + groupGap;
    }
  }

  columnsAt(size) { return Math.max(1, Math.floor(this.width / size)); }

  heightAt(size) {
    const columns = this.columnsAt(size);
    return this.groups.reduce((sum, group) => sum + this.label + groupGap + Math.ceil(group.size / columns) * size, 0) || this.label;
  }

  boxOf(i) { return this.boxes.find((box) => i < box.to); }

  place(i) {
    const box = this.boxOf(i);
    const k = i - box.from;
    return { x: (k % this.columns) * this.size, y: box.top + Math.floor(k / this.columns) * this.size };
  }

  hit(x, y) {
    const box = this.boxes.find((b) => y >= b.top && y < b.bottom);
    const column = Math.floor(x / this.size);
    if (!box || column >= this.columns || column < 0) return -1;
    const i = box.from + Math.floor((y - box.top) / this.size) * this.columns + column;
    return i < box.to ? i : -1;
  }

  gapNow() { return this.size >= 12 ? 2 : this.size >= 6 ? 1 : 0.5; }

  prepare() {
    if (this.sprites) return;
    this.colors = colorsNow();
    this.inner = Math.max(1, Math.round((this.size - this.gapNow()) * this.ratio));
    this.sprites = phases.map((_, i) => sprite(i, this.inner, this.colors));
    this.numbers = new Map();
  }

  cell(c, i) {
    this.prepare();
    const { x, y } = this.place(i);
    const px = Math.round(x * this.ratio);
    const py = Math.round(y * this.ratio);
    const whole = Math.ceil(this.size * this.ratio);
    c.globalAlpha = 1;
    c.fillStyle = this.colors.back;
    c.fillRect(px, py, whole, whole);
    const wave = this.waves ? this.waves[i] : 0;
    c.globalAlpha = this.dim?.[i] || this.waves && !wave ? 0.18 : 1;
    c.drawImage(wave ? this.number(wave) : this.sprites[this.states[i]], px, py);
    c.globalAlpha = 1;
  }

  number(wave) {
    if (!this.numbers.has(wave)) this.numbers.set(wave, numbered(wave, this.inner, this.colors));
    return this.numbers.get(wave);
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
    for (const box of this.boxes) {
      const top = Math.round((box.top - this.label) * this.ratio);
      c.fillStyle = this.colors.back;
      c.fillRect(0, top, this.canvas.width, Math.round(this.label * this.ratio));
      let done = 0;
      for (let i = box.from; i < box.to; i++) if (this.states[i] === phaseIndex('Succeeded')) done++;
      const label = [box.group.placement, box.group.name].filter(Boolean).join(' / ') || 'clusters';
      c.font = `600 ${this.rem * 0.87 * this.ratio}px system-ui, sans-serif`;
      c.fillStyle = this.colors.text;
      const y = Math.round((box.top - this.label * 0.3) * this.ratio);
      const room = this.width * this.ratio - 90 * this.ratio;
      c.fillText(cut(c, label, room), 0, y);
      const wide = Math.min(c.measureText(label).width, room);
      c.font = `${this.rem * 0.87 * this.ratio}px system-ui, sans-serif`;
      c.fillStyle = this.colors.soft;
      c.fillText(`${done}/${box.to - box.from}`, wide + 8 * this.ratio, y);
    }
  }

  outline(c) {
    if (this.selected < 0 || this.selected >= this.names.length) return;
    const { x, y } = this.place(this.selected);
    const line = 2 * this.ratio;
    c.lineWidth = line;
    c.strokeStyle = this.colors.text;
    c.strokeRect(x * this.ratio + line / 2, y * this.ratio + line / 2, this.inner - line, this.inner - line);
  }

  hover(i) {
    this.tip.hidden = i < 0;
    if (i < 0) return;
    this.tip.textContent = this.describe(i);
    const { x, y } = this.place(i);
    this.tip.style.left = `${Math.max(0, Math.min(x, this.width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${y + this.size + 6}px`;
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

  // below returns the cell in the next or the previous row, over the borders of groups.
  below(at, by) {
    if (at < 0) return 0;
    const { x, y } = this.place(at);
    const row = this.hit(x, y + by * this.size);
    if (row >= 0) return row;
    const box = this.boxOf(at);
    const other = this.boxes[this.boxes.indexOf(box) + by];
    if (!other) return by > 0 ? box.to - 1 : box.from;
    return by > 0 ? Math.min(other.to - 1, other.from + x / this.size) : other.to - 1;
  }
}

function cut(c, text, room) {
  if (c.measureText(text).width <= room) return text;
  let short = text;
  while (short && c.measureText(`${short}…`).width > room) short = short.slice(0, -1);
  return `${short}…`;
}
