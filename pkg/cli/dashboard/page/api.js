// Requests to the server. Each carries the token in a header, which a page of another origin can't do.

const key = 'kubectl-mwrs-token';

// token is kept for this tab only, so that a reload still works.
let token = '';

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// open takes the token, or the one-time code, from the fragment of the address and removes it from there.
export async function open() {
  const found = new URLSearchParams(location.hash.slice(1));
  if (found.has('token') || found.has('once')) history.replaceState(null, '', location.pathname + '#/');
  if (found.has('token')) token = found.get('token');
  else if (found.has('once')) token = (await post('/api/open', { once: found.get('once') })).token;
  else token = sessionStorage.getItem(key) ?? '';
  sessionStorage.setItem(key, token);
}

async function ask(path, options = {}) {
  const answer = await fetch(path, {
    ...options, cache: 'no-store', credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer',
    headers: { ...options.headers, 'X-Dashboard-Token': token },
  });
  if (answer.ok) return answer;
  let problem = `The server answered ${answer.status}.`;
  try {
    problem = (await answer.json()).error || problem;
  } catch { /* The answer is not JSON. */ }
  throw new Refused(answer.status, problem);
}

export async function get(path) {
  return (await ask(path)).json();
}

export async function blob(path) {
  return (await ask(path)).blob();
}

export async function post(path, body) {
  return (await ask(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })).json();
}

export function pathOf(namespace, name, ...rest) {
  return ['/api/sets', namespace, name, ...rest].map((part, i) => (i ? encodeURIComponent(part) : part)).join('/');
}

// stream follows server-sent events until the signal aborts. It connects again after an end. EventSource can't send a header. A hidden tab
// has no stream: a browser opens six connections to a server at most, and more tabs would wait for each other without an end.
export async function stream(path, signal, on, disconnected) {
  for (let wait = 500; !signal.aborted; wait = Math.min(wait * 2, 5000)) {
    await visible(signal);
    const shown = new AbortController();
    const hide = () => { if (document.hidden) shown.abort(); };
    document.addEventListener('visibilitychange', hide);
    try {
      const answer = await ask(path, { signal: AbortSignal.any([signal, shown.signal]) });
      wait = 500;
      await events(answer.body, on);
    } catch (error) {
      if (error instanceof Refused) {
        on('problem', { error: error.message, lost: error.status === 401 });
        if (error.status < 500) return;
      }
    } finally {
      document.removeEventListener('visibilitychange', hide);
    }
    if (signal.aborted) return;
    if (shown.signal.aborted) {
      wait = 250;
      continue;
    }
    disconnected();
    await new Promise((done) => { setTimeout(done, wait); });
  }
}

// visible waits until the tab is visible, or the signal aborts.
function visible(signal) {
  return new Promise((done) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', look);
      done();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
    look();
  });
}

// late is how long the server may send nothing, in milliseconds: it sends a beat every second.
const late = 10000;

async function events(body, on) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let parts = [];
  for (;;) {
    const silent = setTimeout(() => reader.cancel().catch(() => {}), late); // It fails if the stream has failed.
    const read = await reader.read().finally(() => clearTimeout(silent));
    if (read.done) return;
    on('beat');
    // The separator may be split between two chunks.
    const value = parts.at(-1)?.endsWith('\n') ? parts.pop() + read.value : read.value;
    const end = value.lastIndexOf('\n\n');
    if (end < 0) {
      parts.push(value);
      continue;
    }
    const text = parts.join('') + value.slice(0, end);
    parts = [value.slice(end + 2)];
    for (const event of text.split('\n\n')) {
      const match = /^event: (\w+)\ndata: (.*)$/.exec(event);
      if (match) on(match[1], JSON.parse(match[2]));
    }
  }
}
