// Reads the events of the service as lines of JSON, and connects again when the stream ends.

const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 15_000;
/** Milliseconds without a line, while the service sends one each 15 s. */
const SILENCE = 40_000;

/** @returns {Promise<void>} */
const pause = (milliseconds, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });

async function* linesOf(body) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunksOf(body)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop();
    for (const line of lines) if (line !== '') yield line;
  }
}

// Not every browser can iterate over a stream.
async function* chunksOf(body) {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/**
 * Follows `url` until `signal` is aborted. `onEvent` gets each event, and `{type: 'connection', up, status?}` when the
 * connection comes or goes: `status` is that of an answer that refused it.
 */
export async function followEvents({ url, headers, onEvent, signal }) {
  let last;
  let wait = FIRST_PAUSE;
  while (!signal.aborted) {
    const stop = new AbortController();
    const end = () => stop.abort();
    signal.addEventListener('abort', end, { once: true });
    let silence;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(end, SILENCE);
    };
    let status;
    try {
      heard();
      const from = last === undefined ? url : url + '?after=' + last;
      const response = await fetch(from, { headers, cache: 'no-store', credentials: 'omit', signal: stop.signal });
      status = response.status;
      if (!response.ok) throw new Error('refused');
      onEvent({ type: 'connection', up: true });
      for await (const line of linesOf(response.body)) {
        heard();
        wait = FIRST_PAUSE;
        const event = JSON.parse(line);
        if (event.type === 'audit') last = event.record.id;
        if (event.type !== 'alive') onEvent(event);
      }
      // Streams end now and then, so that a login that is gone gets no further.
      status = undefined;
    } catch {
      if (!signal.aborted) onEvent({ type: 'connection', up: false, status });
      // Only another login helps, and that begins anew.
      if (status === 401 || status === 403) return;
      await pause(wait, signal);
      wait = Math.min(wait * 2, LONGEST_PAUSE);
    } finally {
      clearTimeout(silence);
      signal.removeEventListener('abort', end);
    }
  }
}
