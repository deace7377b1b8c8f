// What a knowledge object prints, as it does.
import { get, pathOf } from '../shared/api.js';
import { html, useEffect, useRef, useState } from '../shared/html.js';
import { visible } from '../shared/text-lines.js';
import { countOf, Problem, Time } from '../shared/parts.js';

const WAIT = 2000;
/** Lines that are kept here. */
const MOST = 1000;
const LEVELS = ['debug', 'info', 'warn', 'error'];
const KINDS = { warn: 'wait', error: 'bad' };

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

export const Log = ({ id }) => {
  const [level, setLevel] = useState('debug');
  const [isPaused, setPaused] = useState(false);
  const { lines, lost, isRead, error } = useLines(id, level, isPaused);
  const place = useRef(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isAtEnd.current && place.current !== null) place.current.scrollTop = place.current.scrollHeight;
  }, [lines]);
  const onScroll = ({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
    isAtEnd.current = scrollTop + clientHeight > scrollHeight - 20;
  };
  return html`
    <h2>Log</h2>
    <div class="ko-actions">
      <label>
        Level
        <select value=${level} onChange=${(event) => setLevel(event.currentTarget.value)}>
          ${LEVELS.map((each) => html`<option value=${each}>${each === 'debug' ? 'all' : each + (each === 'error' ? '' : ' and worse')}</option>`)}
        </select>
      </label>
      <button class="plain" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>Pause</button>
    </div>
    <${Problem} error=${error} />
    ${lost > 0 && html`<p class="ko-note">${countOf(lost, 'older line')} are not kept any more.</p>`}
    ${isRead && lines.length === 0 && html`<p>It printed nothing.</p>`}
    <div
      class="ko-text ko-log"
      role="log"
      aria-live=${isPaused ? 'off' : 'polite'}
      aria-label=${'Log of ' + id}
      tabindex="0"
      ref=${place}
      onScroll=${onScroll}
    >
      <ul>
        ${lines.map(
          (line) =>
            html`<li key=${line.id} data-kind=${KINDS[line.level]}>
              <span class="quiet"><${Time} at=${line.time} /> ${line.level} ${line.endpoint ?? ''}</span>
              <code>${visible(line.text)}</code>
            </li>`,
        )}
      </ul>
    </div>
  `;
};
