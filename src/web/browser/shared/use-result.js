// What a view reads in several steps, read again when what it depends on changes.
import { get } from './api.js';
import { useEffect, useState } from './html.js';

/**
 * `read` gets a signal that ends with the view. `data` stays what it was while it is read again; another key begins with
 * none.
 * @param {string | undefined} key names what is read; nothing is where it is undefined
 * @param {(signal: AbortSignal) => Promise<unknown>} read
 * @param {unknown} [again] makes it be read again when it changes
 */
export function useResult(key, read, again) {
  const [state, setState] = useState(/** @type {{key?: string, data?: any, error?: any}} */ ({}));
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (key === undefined) return undefined;
    const stop = new AbortController();
    read(stop.signal).then(
      (data) => stop.signal.aborted || setState({ key, data }),
      (error) =>
        stop.signal.aborted ||
        setState((before) => ({ key, data: before.key === key ? before.data : undefined, error })),
    );
    return () => stop.abort();
  }, [key, again, count]);
  const isOf = state.key === key && key !== undefined;
  return {
    data: isOf ? state.data : undefined,
    error: isOf ? state.error : undefined,
    reload: () => setCount((before) => before + 1),
  };
}

/**
 * JSON of the service. Without a path nothing is read.
 * @param {string | undefined} path
 * @param {unknown} [again]
 */
export const useLoaded = (path, again) => useResult(path, (signal) => get(path, { signal }), again);

/**
 * What a person does: `doing` says what goes on, `done` what came of it, `error` why not.
 * An action that gives back `false` did not do it.
 * @returns {[{doing?: string, done?: any, error?: any}, (doing: string, action: () => Promise<any>) => Promise<boolean>]}
 */
export function useAction() {
  const [state, setState] = useState(/** @type {{doing?: string, done?: any, error?: any}} */ ({}));
  const run = async (doing, action) => {
    setState({ doing });
    try {
      const done = await action();
      setState({ done });
      return done !== false;
    } catch (error) {
      setState({ error });
      return false;
    }
  };
  return [state, run];
}
