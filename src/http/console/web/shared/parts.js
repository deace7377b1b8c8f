// Small parts that views share.
import { html } from './html.js';

/** What went wrong, with what the operator looks up in the log. */
export const Problem = ({ error }) =>
  error &&
  html`<p class="problem" role="alert">
    ${error.message}${error.requestId ? html` <span class="quiet">(request ${error.requestId})</span>` : ''}
  </p>`;

/** A table with a caption; `rows` are elements. */
export const Table = ({ caption, heads, children }) => html`
  <div class="scrolls" role="region" aria-label=${caption} tabindex="0">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${heads.map((each) => html`<th scope="col">${each}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${children}
      </tbody>
    </table>
  </div>
`;

export const countOf = (n, one, more = one + 's') => n.toLocaleString('en') + ' ' + (n === 1 ? one : more);

/** A duration in milliseconds as one reads it; a dash where there is none. */
export const duration = (ms) =>
  ms === null || ms === undefined
    ? '–'
    : ms < 10
      ? ms.toFixed(1) + ' ms'
      : ms < 1000
        ? Math.round(ms) + ' ms'
        : (ms / 1000).toFixed(ms < 10_000 ? 1 : 0) + ' s';

/** @type {[string, number][]} */
const UNITS = [
  ['day', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
];

/** A span of time in its two largest units. */
export function span(seconds) {
  let rest = Math.max(0, Math.round(seconds));
  const parts = [];
  for (const [unit, size] of UNITS) {
    const n = Math.floor(rest / size);
    rest -= n * size;
    if (n > 0) parts.push(n + ' ' + (unit === 'day' && n > 1 ? 'days' : unit));
    if (parts.length === 2) break;
  }
  return parts.join(' ') || '0 s';
}

/** A time of the service in the time of whoever looks, exact in its title. */
export const Time = ({ at }) =>
  html`<time datetime=${at} title=${at}
    >${new Date(at).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'medium' })}</time
  >`;

/** A rate a second. */
export const rate = (n) => (n === 0 ? '0' : n < 10 ? n.toFixed(n < 1 ? 2 : 1) : Math.round(n).toLocaleString('en'));

/** A link to the place of a knowledge object in the console. */
export const KoLink = ({ id }) => html`<a href=${'#/kos/' + id.split('/').map(encodeURIComponent).join('/')}>${id}</a>`;
