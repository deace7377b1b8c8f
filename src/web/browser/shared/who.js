// Who looks, for all views.
import { readSession } from '../session.js';
import { useEffect, useState } from './html.js';

/** @type {import('../session.js').Session | undefined} */
let present;
const listeners = new Set();

export const setWho = (session) => {
  present = session;
  for (const listener of listeners) listener(session);
};

/** @throws where the service cannot be reached. */
export const readWho = async () => setWho(await readSession());

/** Undefined until it is known. */
export function useWho() {
  const [who, setState] = useState(present);
  useEffect(() => {
    listeners.add(setState);
    setState(present);
    return () => listeners.delete(setState);
  }, []);
  return who;
}

/** Whether whoever looks may do this: what is drawn for nobody else. */
export const useMay = (permission) => useWho()?.may.includes(permission) === true;
