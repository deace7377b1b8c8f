// Where an input breaks its schema, told within bounds.
import { useEffect, useState } from '../../shared/html.js';

const MOST_MS = 2000;
const MOST_CHARACTERS = 200_000;
/** Milliseconds in which somebody types on. */
const TYPING = 250;

/** Place of a part, as the check names it. */
export const placeBelow = (place, key) =>
  place + '/' + encodeURI(String(key).replaceAll('~', '~0').replaceAll('/', '~1')).replaceAll('#', '%23');

/** `undefined` where it takes too long. @returns {Promise<{at: string, error: string}[] | undefined>} */
function check(schema, value, signal) {
  return new Promise((resolve) => {
    const worker = new Worker(new URL('./check-worker.js', import.meta.url), { type: 'module' });
    const end = (found) => {
      clearTimeout(timer);
      worker.terminate();
      resolve(found);
    };
    const timer = setTimeout(end, MOST_MS);
    signal.addEventListener('abort', () => end(undefined), { once: true });
    worker.onmessage = ({ data }) => end(data);
    worker.onerror = (event) => {
      event.preventDefault();
      end(undefined);
    };
    worker.postMessage({ schema, value });
  });
}

/** `errors` by place; `why` it was not checked. */
export function useCheck(schema, text) {
  const [state, setState] = useState({ errors: new Map(), why: '' });
  useEffect(() => {
    const none = (why) => setState({ errors: new Map(), why });
    if (schema === null || text === undefined) return none('');
    if (text.length > MOST_CHARACTERS) return none('It is too large to be checked here by its schema.');
    let value;
    try {
      value = JSON.parse(text);
    } catch {
      return none('');
    }
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      const found = await check(schema, value, stop.signal);
      if (stop.signal.aborted) return;
      if (found === undefined) none('The schema takes too long to be checked here.');
      else setState({ errors: Map.groupBy(found, ({ at }) => at), why: '' });
    }, TYPING);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [schema, text]);
  return state;
}
