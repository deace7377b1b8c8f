// One stream of events for all tabs that have the same login: a browser allows few connections to one service.
import { followEvents } from './event-stream.js';

/** A tab says now and then that it is there, in the background once a minute. */
const GONE = 150_000;

/** By address and login. */
const streams = new Map();

const close = (key) => {
  streams.get(key)?.stop.abort();
  streams.delete(key);
};

const leave = (port) => {
  for (const [key, { ports }] of streams) {
    ports.delete(port);
    if (ports.size === 0) close(key);
  }
};

const join = (port, { url, headers }) => {
  const key = url + '\n' + (headers.authorization ?? '');
  let stream = streams.get(key);
  if (stream === undefined) {
    const stop = new AbortController();
    stream = { ports: new Map(), latest: new Map(), stop };
    streams.set(key, stream);
    const { ports, latest } = stream;
    const onEvent = (event) => {
      if (event.type === 'state' || event.type === 'connection') latest.set(event.type, event);
      for (const each of ports.keys()) each.postMessage(event);
      if (event.status === 401 || event.status === 403) streams.delete(key);
    };
    void followEvents({ url, headers, onEvent, signal: stop.signal });
  }
  stream.ports.set(port, Date.now());
  for (const event of stream.latest.values()) port.postMessage(event);
};

self.addEventListener('connect', (/** @type {MessageEvent} */ { ports: [port] }) => {
  port.onmessage = ({ data }) => {
    if (data.type === 'leave') leave(port);
    else if (data.type === 'join') (leave(port), join(port, data));
    else for (const { ports } of streams.values()) if (ports.has(port)) ports.set(port, Date.now());
  };
});

setInterval(() => {
  const since = Date.now() - GONE;
  for (const { ports } of [...streams.values()]) for (const [port, seen] of ports) if (seen < since) leave(port);
}, 30_000);
