// What this page has seen since it was opened: the states of all cells over time, so that an abort can be replayed.

import { phaseIndex } from './phases.js';

// After this many frames, the oldest half becomes the beginning.
const mostFrames = 20000;

// A segment is a time in which the clusters were the same. base are the states at its begin, and each frame the changes of a moment.
export class Recording {
  segments = [];

  count = 0;

  // whole begins a segment, or adds a frame if only the states differ.
  whole(at, model) {
    const states = Uint8Array.from(model.cells, (cell) => phaseIndex(cell.s));
    const last = this.segments.at(-1);
    if (last && sameCells(last, model)) {
      const index = [];
      const before = this.states(last, last.frames.length - 1);
      states.forEach((state, i) => { if (state !== before[i]) index.push(i); });
      this.push(at, index, model);
      return;
    }
    this.segments.push({ groups: model.groups, names: model.cells.map((cell) => cell.n), base: states, frames: [{ at, index: [], states: [], ...caption(model) }] });
    this.count++;
  }

  // push adds a frame with the changed cells.
  push(at, index, model) {
    const last = this.segments.at(-1);
    last.frames.push({ at, index, states: index.map((i) => phaseIndex(model.cells[i].s)), ...caption(model) });
    if (++this.count > mostFrames) this.shorten();
  }

  shorten() {
    const first = this.segments[0];
    const half = Math.floor(first.frames.length / 2);
    this.count -= this.segments.length > 1 ? first.frames.length : half;
    if (this.segments.length > 1) {
      this.segments.shift();
      return;
    }
    first.base = this.states(first, half);
    first.frames.splice(0, half);
    Object.assign(first.frames[0], { index: [], states: [] });
    first.keys = null;
  }

  // states returns the states after a frame of a segment.
  states(segment, frame) {
    const states = segment.base.slice();
    for (let i = 0; i <= frame; i++) segment.frames[i].index.forEach((cell, k) => { states[cell] = segment.frames[i].states[k]; });
    return states;
  }

  // at returns the moment with a number from 0 to count-1.
  at(number) {
    let left = number;
    for (const segment of this.segments) {
      if (left < segment.frames.length) {
        return { groups: segment.groups, names: segment.names, states: this.states(segment, left), frame: segment.frames[left] };
      }
      left -= segment.frames.length;
    }
    return null;
  }
}

function sameCells(segment, model) {
  return segment.names.length === model.cells.length && segment.names.every((name, i) => name === model.cells[i].n);
}

function caption(model) {
  return { state: model.head.state, summary: model.head.summary };
}
