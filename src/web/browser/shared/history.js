// Calls of the last hour: rate, failures and times, of all or of one knowledge object.
import { Chart } from './chart.js';
import { useServiceState } from './events.js';
import { html, useEffect, useMemo, useState } from './html.js';
import { countOf, duration, Empty, Problem, rate, Waiting } from './parts.js';
import { useLoaded } from './use-result.js';

/** Milliseconds until the figures are read again. */
const WAIT = 10_000;

/** Counts up while the page is visible. */
export function useTicks(milliseconds) {
  const [ticks, setTicks] = useState(0);
  useEffect(() => {
    const look = () => document.hidden || setTicks((before) => before + 1);
    const timer = setInterval(look, milliseconds);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [milliseconds]);
  return ticks;
}

/** `GET /actuator/history`, of one knowledge object where it is named. */
export function useHistory(ko) {
  const ticks = useTicks(WAIT);
  const state = useServiceState();
  const path = 'actuator/history' + (ko === undefined ? '' : '?ko=' + encodeURIComponent(ko));
  return useLoaded(path, ticks + ' ' + (state?.catalogue ?? ''));
}

const NOTHING = { from: 0, step: 1, lastSeconds: 1, calls: [], failed: [] };

const percent = (part, whole) =>
  whole === 0 ? '0 %' : ((100 * part) / whole).toFixed(part === 0 || part === whole ? 0 : 1) + ' %';

/** The figures of an hour in words. */
export const summaryOf = ({ calls, failed, p50, p95, p99 }) =>
  countOf(calls, 'call') +
  ', ' +
  countOf(failed, 'failure') +
  ' (' +
  percent(failed, calls) +
  ')' +
  (calls === 0
    ? ''
    : '; half within ' + duration(p50) + ', 95 % within ' + duration(p95) + ', 99 % within ' + duration(p99));

export function HistoryCharts({ history: loaded }) {
  const { data: history, error } = loaded;
  const { times, perSecond, failures } = useMemo(() => {
    const { from, step, lastSeconds, calls, failed } = history ?? NOTHING;
    const begin = Date.parse(from) / 1000;
    // The last step is still running.
    const perSecondOf = (n, at) => n / (at === calls.length - 1 ? Math.max(1, lastSeconds) : step);
    return {
      times: calls.map((_, at) => begin + at * step),
      perSecond: calls.map(perSecondOf),
      failures: failed.map(perSecondOf),
    };
  }, [history]);
  if (history === undefined) return html`<${Waiting} of=${loaded} />`;
  const { total, p50, p95, p99 } = history;
  if (total.calls === 0) return html`<${Empty}>There was no call in the last hour.<//>`;
  return html`
    <${Problem} error=${error} />
    <div class="charts">
      <${Chart}
        title="Calls a second"
        summary=${rate(total.perSecond) + ' now'}
        times=${times}
        format=${rate}
        lines=${[
          { label: 'calls', colour: 'accent', values: perSecond },
          { label: 'failed', colour: 'bad', dash: [6, 3], values: failures },
        ]}
      />
      <${Chart}
        title="Time of a call"
        summary=${'95 % within ' + duration(total.p95)}
        times=${times}
        format=${duration}
        lines=${[
          { label: 'p50', colour: 'good', values: p50 },
          { label: 'p95', colour: 'accent', dash: [8, 3], values: p95 },
          { label: 'p99', colour: 'wait', dash: [2, 3], values: p99 },
        ]}
      />
    </div>
    <p>In the last hour: ${summaryOf(total)}.</p>
  `;
}
