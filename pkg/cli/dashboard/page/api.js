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

// open takes the token from the fragment of the address, and removes it from the address.
export function open() {
  const found = new URLSearchParams(location.hash.slice(1));
  if (found.has('token')) history.replaceState(null, '', location.pathname + '#/');
  token = found.get('token') ?? sessionStorage.getItem(key) ?? '';
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

export async function get(path, options) {
  return (await ask(path, options)).json();
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

// every is the polling interval, and late is the time that an answer may take, both in milliseconds.
const every = 1000;
const late = 10000;

// follow reports the changes to a path until the signal aborts. The server sends the state only if it has changed. A hidden tab sends no
// requests.
export async function follow(path, signal, on) {
  let seen = '';
  while (!signal.aborted) {
    await visible(signal);
    try {
      const news = await get(`${path}?seen=${seen}`, { signal: AbortSignal.any([signal, AbortSignal.timeout(late)]) });
      seen = news.version ?? '';
      on(news);
    } catch (error) {
      if (signal.aborted) return;
      seen = '';
      on(error instanceof Refused ? { error: error.message } : { lost: true });
      if (error.status === 401) return;
    }
    await new Promise((done) => { setTimeout(done, every); });
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
