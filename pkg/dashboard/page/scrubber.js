// The scrubber over what this page has seen. Also used for films of a simulation.

import { announce, el, fill, show, time } from './dom.js';

export function scrubber({ recording, moment }) {
  const range = el('input', { type: 'range', min: '0', max: '0', value: '0', 'aria-label': 'Moment that the map shows', oninput: () => { stop(); go(Number(range.value)); } });
  const play = el('button', { type: 'button', onclick: () => (timer ? stop() : start()) }, 'Replay');
  const now = el('button', { type: 'button', disabled: true, onclick: () => { stop(); live(); } }, 'Live');
  const label = el('span', { class: 'soft' });
  const element = el('div', { class: 'scrub', role: 'group', 'aria-label': 'Replay of what this page has seen', hidden: true }, play, range, now, label);
  let timer = null;
  let isLive = true;

  function go(number) {
    const at = recording.at(number);
    if (!at) return;
    isLive = false;
    now.disabled = false;
    range.value = String(number);
    fill(label, time(Math.floor(at.frame.at / 1000)));
    range.setAttribute('aria-valuetext', `${at.frame.state}: ${at.frame.summary}`);
    moment(at, `Replay: ${at.frame.state}. ${at.frame.summary}. The map shows ${new Date(at.frame.at).toLocaleTimeString()}; everything else is live.`);
  }

  function live() {
    isLive = true;
    now.disabled = true;
    range.value = range.max;
    fill(label);
    moment(null);
    announce('The map is live.');
  }

  function start() {
    const from = isLive || Number(range.value) >= recording.count - 1 ? 0 : Number(range.value);
    let number = from;
    show(play, 'Pause replay');
    go(number);
    timer = setInterval(() => {
      number += Math.max(1, Math.round(recording.count / 300));
      if (number >= recording.count) { stop(); return; }
      go(number);
    }, Math.max(33, Math.min(400, 10000 / recording.count)));
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    show(play, 'Replay');
  }

  return {
    element,
    grew: () => {
      element.hidden = recording.count < 2;
      range.max = String(recording.count - 1);
      if (isLive) range.value = range.max;
    },
    live: () => { stop(); if (!isLive) live(); },
    end: stop,
  };
}
