// The states of clusters: their order, letters and textures. The colors are in style.css, so that dark and light differ. No two states
// differ by color alone: those that need attention have a letter, and failed cells have a cross.

import { el, words } from './dom.js';

export const phases = [
  { name: 'Failed', letter: 'F', texture: 'cross', bad: true, text: 'counts against maxFailures' },
  { name: 'Rejected', letter: 'R', texture: 'cross', bad: true, text: 'the API server rejects its ManifestWork' },
  { name: 'Restoring', letter: 'B', texture: 'down', bad: true, text: 'returns to the current revision after an abort' },
  { name: 'Degraded', letter: 'D', texture: 'down', bad: true, text: 'is degraded, and its deadline has not passed' },
  { name: 'TerminationTimedOut', letter: 'T', texture: 'down', bad: true, text: 'its ManifestWork has been deleting for too long' },
  { name: 'Completed', letter: 'C', texture: 'down', bad: true, text: 'ran to completion at another revision, and its agent accepts no new revision' },
  { name: 'AgentUnknown', letter: '?', texture: 'dot', bad: true, text: 'its agent has not reported to this hub' },
  { name: 'Away', letter: 'A', texture: 'dot', bad: true, text: 'is unavailable, and no Placement selects it: it keeps its ManifestWork' },
  { name: 'Held', letter: 'O', texture: 'dot', text: 'is on hold: no rollout starts there' },
  { name: 'Closed', letter: 'W', texture: 'hollow', text: 'waits for its next window' },
  { name: 'InFlight', letter: '', texture: 'up', text: 'has the revision, but no result yet' },
  { name: 'Validating', letter: 'V', texture: 'up', text: 'succeeded, but a success gate is not True yet' },
  { name: 'HandingOver', letter: 'H', texture: 'up', text: 'still has dropped objects of the previous revision' },
  { name: 'Soaking', letter: '', texture: 'half', text: 'succeeded, but not yet for minSuccessTime' },
  { name: 'Succeeded', letter: '', texture: '', text: 'the revision succeeded' },
  { name: 'Terminating', letter: '', texture: 'dot', text: 'its ManifestWork is being deleted' },
  { name: 'Waiting', letter: '', texture: 'hollow', text: 'does not have the revision yet' },
].map((phase) => ({ ...phase, word: words(phase.name) }));

const indexOf = new Map(phases.map((phase, i) => [phase.name, i]));

export function phaseIndex(name) {
  return indexOf.get(name) ?? indexOf.get('AgentUnknown');
}

// urgency returns the position of a state in a list that starts with the most urgent state.
export function urgency(name) {
  return name === 'Succeeded' ? phases.length : phaseIndex(name);
}

// colorsNow returns the colors of the states in the scheme of the browser.
export function colorsNow() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return {
    fill: phases.map((phase) => of(`--p-${phase.name}`)),
    ink: phases.map((phase) => of(`--i-${phase.name}`) || of('--cell-ink')),
    text: of('--text'), soft: of('--soft'), back: of('--card'), waves: of('--waves').split(',').map((c) => c.trim()),
  };
}

// sprite draws a cell of a state at a size in device pixels.
export function sprite(index, size, colors) {
  return painted(size, (c) => {
    c.fillStyle = colors.fill[index];
    c.fillRect(0, 0, size, size);
    c.strokeStyle = c.fillStyle = colors.ink[index];
    c.lineWidth = Math.max(1, size / 12);
    texture(c, phases[index], size, colors.back);
  });
}

// numbered draws a cell of a wave.
export function numbered(number, size, colors) {
  return painted(size, (c) => {
    c.fillStyle = colors.waves[(number - 1) % colors.waves.length];
    c.fillRect(0, 0, size, size);
    c.fillStyle = '#111';
    letter(c, String(number), size);
  });
}

function painted(size, paint) {
  const canvas = new OffscreenCanvas(size, size);
  paint(canvas.getContext('2d'));
  return canvas;
}

function texture(c, phase, s, back) {
  c.beginPath();
  switch (phase.texture) {
    case 'cross':
      if (s >= 16 && phase.letter) break;
      c.moveTo(0, 0); c.lineTo(s, s); c.moveTo(s, 0); c.lineTo(0, s);
      break;
    case 'down':
      if (s >= 16) break;
      c.moveTo(0, 0); c.lineTo(s, s);
      break;
    case 'up':
      if (s >= 8) { c.moveTo(0, s); c.lineTo(s, 0); c.moveTo(0, s / 2); c.lineTo(s / 2, 0); c.moveTo(s / 2, s); c.lineTo(s, s / 2); }
      break;
    case 'half':
      if (s >= 6) c.fillRect(0, s * 0.62, s, s * 0.38);
      break;
    case 'dot':
      if (s >= 6 && !(s >= 16 && phase.letter)) c.fillRect(s / 2 - s / 8, s / 2 - s / 8, s / 4, s / 4);
      break;
    case 'hollow':
      if (s >= 8) { c.fillStyle = back; c.fillRect(s * 0.14, s * 0.14, s * 0.72, s * 0.72); }
      break;
    default:
  }
  c.stroke();
  if (phase.letter && s >= 16) letter(c, phase.letter, s);
}

function letter(c, text, size) {
  if (size < 12) return;
  c.font = `bold ${Math.floor(size * (text.length > 2 ? 0.45 : 0.62))}px system-ui, sans-serif`;
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  c.fillText(text, size / 2, size * 0.54);
}

// swatch returns a small cell for the legend and the bar.
export function swatch(index, style = {}) {
  const phase = phases[index];
  return el('i', {
    class: `swatch t-${phase.texture || 'plain'}`, 'data-letter': phase.letter, 'aria-hidden': 'true',
    style: { backgroundColor: `var(--p-${phase.name})`, color: `var(--i-${phase.name}, var(--cell-ink))`, ...style },
  });
}
