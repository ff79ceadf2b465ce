// The actions. The server previews each action, and a dialog shows the change and the number of clusters.

import { pathOf, post } from './api.js';
import { el, plural } from './dom.js';

const order = ['approve', 'pause', 'resume', 'retry', 'undo', 'abort'];
const verbs = { approve: 'Approve', undo: 'Undo', abort: 'Abort', retry: 'Retry', pause: 'Pause', resume: 'Resume' };

export function actions({ namespace, name, context, announce }) {
  let dialog = null;

  // buttons returns the actions. All keep their positions, so that none moves under the pointer. Abort is set apart.
  function buttons(offers) {
    if (context.readOnly) return [el('span', { class: 'soft' }, 'Read-only')];
    const paused = offers.some((offer) => offer.verb === 'resume' && !offer.not);
    const shown = order.filter((verb) => verb !== (paused ? 'pause' : 'resume')).flatMap((verb) => offers.filter((other) => other.verb === verb));
    return shown.map(({ verb, not, group }) => el('button', {
      type: 'button', key: verb + (group || ''), 'data-verb': verb, disabled: Boolean(not), title: not || null, class: verb === 'abort' ? 'danger apart' : null,
      onclick: () => ask(verb, group ? { group } : {}),
    }, group ? `${verbs[verb]} ${group} …` : `${verbs[verb]} …`));
  }

  function close() {
    dialog?.close();
    dialog?.remove();
    dialog = null;
  }

  // ask opens the dialog of an action.
  async function ask(verb, more = {}) {
    close();
    const box = el('div', {}, el('h2', {}, `${verbs[verb]} ${namespace}/${name}`), el('p', { class: 'soft' }, 'Reading …'),
      el('div', { class: 'bar' }, el('button', { type: 'button', onclick: close }, 'Cancel')));
    const own = el('dialog', { 'aria-label': `${verbs[verb]} ${namespace}/${name}`, onclose: () => { if (dialog === own) close(); } }, box);
    dialog = own;
    document.body.append(own);
    own.showModal();
    await preview(own, box, { verb, ...more }, '');
  }

  async function preview(own, box, action, warning) {
    try {
      const found = await post(pathOf(namespace, name, 'preview'), action);
      if (dialog === own) confirm(own, box, action, found, warning);
    } catch (error) {
      if (dialog === own) refused(own, box, action, error);
    }
  }

  function refused(own, box, action, error) {
    const flag = action.verb === 'undo' && /--allow-(aborted|managed)/.exec(error.message)?.[1];
    const allowed = { aborted: ['allowAborted', 'The rollout of this revision was aborted before.'], managed: ['allowManaged', 'The tool that manages the template may overwrite the undo.'] }[flag];
    box.replaceChildren(el('div', {}, el('h2', {}, `${verbs[action.verb]} is not possible`), el('p', { class: 'bad', role: 'alert' }, error.message),
      el('div', { class: 'bar' }, el('button', { type: 'button', onclick: close }, 'Close'),
        allowed ? el('button', { type: 'button', class: 'danger', onclick: () => preview(own, box, { ...action, [allowed[0]]: true }, allowed[1]) }, 'Undo nevertheless …') : null)));
    box.querySelector('button').focus();
  }

  function confirm(own, box, action, found, warning) {
    const reason = el('input', { type: 'text', maxlength: '256', id: 'reason', autocomplete: 'off' });
    const result = el('p', { role: 'alert', class: 'bad' });
    const yes = el('button', { type: 'button', class: action.verb === 'abort' ? 'danger' : null, id: 'confirm', onclick: send },
      found.clusters ? `${verbs[action.verb]}: ${plural(found.clusters, 'cluster')} will be written` : verbs[action.verb]);
    const no = el('button', { type: 'button', onclick: close }, 'Cancel');

    async function send() {
      yes.disabled = true;
      try {
        const done = await post(pathOf(namespace, name, 'act'), { ...action, reason: reason.value || undefined, generation: found.generation, confirmed: found.question });
        close();
        announce(done.done);
      } catch (error) {
        if (dialog !== own) return;
        if (error.status === 409) await preview(own, box, action, error.message);
        else { result.textContent = error.message; yes.disabled = false; }
      }
    }

    box.replaceChildren(el('div', {}, el('h2', {}, found.question), warning ? el('p', { class: 'warn', role: 'alert' }, warning) : null,
      found.diff ? diffView(found.diff) : action.verb === 'undo' ? el('p', {}, 'The manifests do not differ from those in the spec.') : null,
      el('dl', {}, el('dt', {}, 'Then'), el('dd', {}, found.then),
        el('dt', {}, 'Clusters'), el('dd', {}, found.clusters ? `The hub will write to ${plural(found.clusters, 'cluster')}.` : action.verb === 'approve' ? 'The hub will write to the clusters of this group.' : 'The hub will write to no cluster.')),
      action.verb === 'abort' ? el('label', { for: 'reason' }, 'Reason (recorded with your name)', reason) : null,
      result, el('div', { class: 'bar' }, no, yes)));
    (action.verb === 'abort' ? reason : no).focus();
  }

  return {
    buttons, ask, end: close,
    clusterButton: (cluster) => (context.readOnly ? null
      : el('button', { type: 'button', onclick: () => ask('retry', { clusters: [cluster] }) }, `Retry ${cluster} …`)),
  };
}

// diffView shows a unified diff.
function diffView(text) {
  return el('pre', { class: 'diff', tabindex: '0', role: 'region', 'aria-label': 'Change to the template' }, text.replace(/\n$/, '').split('\n').map((line) => {
    const kind = /^(@@|--- |\+\+\+ )/.test(line) ? 'place' : line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : null;
    return el('span', { class: kind }, `${line}\n`);
  }));
}
