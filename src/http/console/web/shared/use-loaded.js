// What a view reads from the service, read again when its path changes or the view asks for it.
import { get } from './api.js';
import { useEffect, useState } from './html.js';

/**
 * `data` stays what it was while it is read again; another path begins with none. Without a path nothing is read.
 * @param {string | undefined} path
 * @param {unknown} [again] what makes it be read again when it changes, such as the catalogue's state
 */
export function useLoaded(path, again) {
  const [state, setState] = useState({ path, data: undefined, error: undefined });
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (path === undefined) return undefined;
    const stop = new AbortController();
    get(path, { signal: stop.signal }).then(
      (data) => setState({ path, data, error: undefined }),
      (error) => {
        if (!stop.signal.aborted)
          setState((before) => ({ path, data: before.path === path ? before.data : undefined, error }));
      },
    );
    return () => stop.abort();
  }, [path, again, count]);
  const isOf = state.path === path;
  return {
    data: isOf ? state.data : undefined,
    error: isOf ? state.error : undefined,
    reload: () => setCount((before) => before + 1),
  };
}
