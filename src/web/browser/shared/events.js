// What happens in the service, as it happens, for the views of this tab.
import { loginHeaders } from '../session.js';
import { base } from './api.js';
import { followEvents } from './event-stream.js';
import { useEffect, useRef, useState } from './html.js';

const HERE = 30_000;
const url = new URL(base + 'actuator/events', location.href).href;

/** By type of event. */
const listeners = new Map();
const latest = new Map();

const tell = (event) => {
  if (event.type === 'state' || event.type === 'connection') latest.set(event.type, event);
  for (const listener of listeners.get(event.type) ?? []) listener(event);
};

let port;
let stop;

const followHere = () => {
  stop?.abort();
  stop = new AbortController();
  void followEvents({ url, headers: loginHeaders(), onEvent: tell, signal: stop.signal });
};

/** Connects with the login of now. */
export function connect() {
  latest.clear();
  if (typeof SharedWorker === 'undefined') return followHere();
  if (port === undefined) {
    const worker = new SharedWorker(new URL('./events-worker.js', import.meta.url), { type: 'module' });
    worker.onerror = followHere;
    port = worker.port;
    port.onmessage = ({ data }) => tell(data);
    setInterval(() => port.postMessage({ type: 'here' }), HERE);
    addEventListener('pagehide', () => port.postMessage({ type: 'leave' }));
    addEventListener('pageshow', ({ persisted }) => persisted && connect());
  }
  port.postMessage({ type: 'join', url, headers: loginHeaders() });
}

/** Calls back for each event of the type while the view is shown. */
export function useEvents(type, callback) {
  const present = useRef(callback);
  present.current = callback;
  useEffect(() => {
    const listener = (event) => present.current(event);
    if (!listeners.has(type)) listeners.set(type, new Set());
    listeners.get(type).add(listener);
    return () => listeners.get(type).delete(listener);
  }, [type]);
}

const useLatest = (type) => {
  const [event, setEvent] = useState(latest.get(type));
  useEvents(type, setEvent);
  return event;
};

/** The last `state` event: what the service does now; undefined until the first came. */
export const useServiceState = () => useLatest('state');

/** `{up, status?}` of the stream of events. */
export const useConnection = () => useLatest('connection');
