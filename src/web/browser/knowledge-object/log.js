// What a knowledge object prints, as it does, with the calls that failed between.
import { get, pathOf } from '../shared/api.js';
import { useTicks } from '../shared/history.js';
import { html, useEffect, useRef, useState } from '../shared/html.js';
import { visible } from '../shared/text-lines.js';
import { countOf, Empty, Problem, Time } from '../shared/parts.js';
import { useLoaded } from '../shared/use-result.js';

const WAIT = 2000;
/** Lines that are kept here. */
const MOST = 1000;
const LEVELS = ['debug', 'info', 'warn', 'error'];
const KINDS = { warn: 'wait', error: 'bad', failed: 'bad' };

/** Lines of the level or a worse one, the latest, as long as it is not paused. */
function useLines(id, level, isPaused) {
  const [state, setState] = useState({ lines: [], lost: 0, isRead: false, error: undefined });
  const last = useRef(undefined);
  useEffect(() => {
    last.current = undefined;
    setState({ lines: [], lost: 0, isRead: false, error: undefined });
  }, [id, level]);
  useEffect(() => {
    if (isPaused) return undefined;
    const stop = new AbortController();
    let timer;
    const look = async () => {
      try {
        if (!document.hidden) {
          const query = new URLSearchParams({ level, limit: String(MOST) });
          if (last.current !== undefined) query.set('after', last.current);
          const answer = await get('actuator/logs/' + pathOf(id) + '?' + query, { signal: stop.signal });
          if (stop.signal.aborted) return;
          const isNew = last.current === undefined;
          last.current = answer.lines.at(-1)?.id ?? last.current;
          setState((before) => ({
            lines: [...(isNew ? [] : before.lines), ...answer.lines].slice(-MOST),
            lost: answer.lost,
            isRead: true,
            error: undefined,
          }));
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        setState((before) => ({ ...before, error }));
      }
      timer = setTimeout(look, WAIT);
    };
    void look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [id, level, isPaused]);
  return state;
}

/** A failure stands where it was last; how often it was, it says. */
const failuresIn = (failures, lines, isFull) =>
  failures
    // What is older than the lines that are shown belongs above them.
    .filter(({ last }) => !isFull || lines.length === 0 || last >= lines[0].time)
    .map(({ last, endpoint, message, code, status, place, frames = [], count, requestId }) => ({
      id: 'failure ' + requestId + last + code + message,
      time: last,
      level: 'failed',
      endpoint,
      text:
        [message ?? code, place && 'at ' + place, status].filter(Boolean).join(' · ') +
        (count > 1 ? ` · ${count} times` : '') +
        frames
          .slice(1)
          .map((each) => '\n    called from ' + each)
          .join(''),
    }));

export const Log = ({ id }) => {
  const [level, setLevel] = useState('debug');
  const [isPaused, setPaused] = useState(false);
  const { lines, lost, isRead, error } = useLines(id, level, isPaused);
  const { data: failures = [] } = useLoaded(
    'actuator/failures?ko=' + encodeURIComponent(id),
    lines.at(-1)?.id + ' ' + useTicks(WAIT),
  );
  const failed = failuresIn(failures, lines, lost > 0);
  const all = [...lines, ...failed].sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  const place = useRef(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isAtEnd.current && place.current !== null) place.current.scrollTop = place.current.scrollHeight;
  }, [all.length]);
  const onScroll = ({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
    isAtEnd.current = scrollTop + clientHeight > scrollHeight - 20;
  };
  return html`
    <div class="row">
      <label>
        Level
        <select value=${level} onChange=${(event) => setLevel(event.currentTarget.value)}>
          ${LEVELS.map((each) => html`<option value=${each}>${each === 'debug' ? 'all' : each + (each === 'error' ? '' : ' and worse')}</option>`)}
        </select>
      </label>
      <button class="plain" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>Pause</button>
    </div>
    <${Problem} error=${error} />
    ${lost > 0 && html`<p class="note">${countOf(lost, 'older line')} are not kept any more.</p>`}
    ${isRead && all.length === 0 && html`<${Empty}>It printed nothing, and no call of it failed.<//>`}
    <div
      class="text log"
      role="log"
      aria-live=${isPaused ? 'off' : 'polite'}
      aria-label=${'Log of ' + id}
      tabindex="0"
      ref=${place}
      onScroll=${onScroll}
    >
      <ul>
        ${all.map(
          (line) =>
            html`<li key=${line.id} data-kind=${KINDS[line.level]}>
              <span class="quiet"><${Time} at=${line.time} /> ${line.level} ${line.endpoint ?? ''} </span>
              <code>${visible(line.text)}</code>
            </li>`,
        )}
      </ul>
    </div>
  `;
};
