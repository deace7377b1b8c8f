// Small parts that views share.
import { pathOf } from './api.js';
import { html } from './html.js';

/** What went wrong, with what the operator looks up in the log. */
export const Problem = ({ error }) =>
  error &&
  html`<p class="note bad" role="alert">
    ${error.message}${error.requestId ? html` <span class="quiet">(request ${error.requestId})</span>` : ''}
  </p>`;

/** While something is read; what is read once stays while it is read again. */
export const Waiting = ({ of: { data, error } }) =>
  error
    ? html`<${Problem} error=${error} />`
    : data === undefined && html`<p class="waiting" role="status">Loading…</p>`;

/** Nothing is there, and what one does about it. */
export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

/**
 * A table with a caption, which is a list of cards on a narrow screen. The first cell of a row is its head.
 * @param {{caption: string, isHidden?: boolean, heads: string[], numbers?: number[], rows: {key?: string, cells: any[]}[]}} props
 *   `isHidden`: the caption stands in a heading already
 */
export const Table = ({ caption, isHidden = false, heads, numbers = [], rows }) => html`
  <div class="scrolls" role="region" aria-label=${caption} tabindex="0">
    <table>
      <caption class=${isHidden ? 'unseen' : ''}>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${heads.map((each, i) => html`<th scope="col" class=${numbers.includes(i) ? 'number' : ''}>${each}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ key, cells: [first, ...others] }) =>
            html`<tr key=${key}>
              <th scope="row">${first}</th>
              ${others.map(
                (cell, i) =>
                  html`<td data-head=${heads[i + 1]} class=${numbers.includes(i + 1) ? 'number' : ''}>${cell}</td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>
`;

/** In words, by what the service calls it, for knowledge objects and for endpoints. */
const STATES = {
  active: ['active', 'good'],
  failed: ['failed', 'bad'],
  changed: ['other package runs', 'bad'],
  deleted: ['deleted, still runs', 'bad'],
  new: ['not activated', 'wait'],
  starting: ['starting', 'wait'],
  idle: ['nothing to run', 'quiet'],
  ACTIVATED: ['active', 'good'],
  FAILED_TO_ACTIVATE: ['failed', 'bad'],
  LOADED: ['starting', 'wait'],
  UNREADABLE: ['cannot be read', 'bad'],
  NONE: ['nothing to run', 'quiet'],
};

export const wordOf = (state) => STATES[state]?.[0] ?? state;

export const State = ({ of }) => html`<span class="state" data-kind=${STATES[of]?.[1] ?? 'quiet'}>${wordOf(of)}</span>`;

/** A list in pages: `page` from 1. */
export const Pages = ({ page, pages, label, onPage }) =>
  pages > 1 &&
  html`<nav class="row" aria-label=${label}>
    <button class="plain" disabled=${page <= 1} onClick=${() => onPage(page - 1)}>Previous</button>
    <span role="status">Page ${page.toLocaleString('en')} of ${pages.toLocaleString('en')}</span>
    <button class="plain" disabled=${page >= pages} onClick=${() => onPage(page + 1)}>Next</button>
  </nav>`;

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

/** Address of a knowledge object in the front, or of a part of it. */
export const hrefOf = (id, ...rest) => '#/kos/' + [id, ...rest].map(pathOf).join('/');

export const KoLink = ({ id }) => html`<a href=${hrefOf(id)}>${id}</a>`;

/** The first characters of `sha256:…`, which people compare. */
export const Digest = ({ of }) =>
  of ? html`<code title=${of}>${of.replace('sha256:', '').slice(0, 12)}</code>` : html`<span class="quiet">none</span>`;

export const nameOf = (id) => id.split('/').slice(0, 2).join('/');
export const versionOf = (id) => id.split('/')[2];
