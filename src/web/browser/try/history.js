// What was tried in this tab: inputs may be data of patients, so that it is little, and goes with the login.
import { loginHeaders } from '../session.js';
import { html, useEffect, useState } from '../shared/html.js';
import { duration, Table, Time } from '../shared/parts.js';
import { forgetDrafts } from './draft.js';

const KEPT = 'kgrid-console-tries';
const MOST_ENTRIES = 30;
const MOST_CHARACTERS = 200_000;

const listeners = new Set();

/** Whose login it is: of a token what it says of its subject, or nothing that lasts longer than it. */
function ownerOf(authorization) {
  try {
    const [scheme, value] = authorization.split(' ');
    if (scheme === 'Basic') return 'user ' + atob(value).split(':', 1)[0];
    const [, claims = ''] = value.split('.');
    return 'subject ' + JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))).sub;
  } catch {
    return 'token';
  }
}

function read() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? 'null');
    if (kept === null) return [];
    const { authorization } = loginHeaders();
    // Somebody else may sit here now.
    if (authorization !== undefined && kept.owner !== undefined && kept.owner !== ownerOf(authorization)) {
      clear();
      return [];
    }
    return kept.entries;
  } catch {
    return [];
  }
}

function write(entries) {
  const { authorization } = loginHeaders();
  const owner = authorization === undefined ? undefined : ownerOf(authorization);
  let left = entries.slice(0, MOST_ENTRIES);
  while (left.length > 0 && JSON.stringify(left).length > MOST_CHARACTERS) left = left.slice(0, -1);
  try {
    if (left.length === 0) sessionStorage.removeItem(KEPT);
    else sessionStorage.setItem(KEPT, JSON.stringify({ owner, entries: left }));
  } catch {
    // A browser that keeps nothing is no reason to call nothing.
  }
  for (const listener of listeners) listener();
}

function clear() {
  forgetDrafts();
  write([]);
}

// Said by the login of the page.
addEventListener('kgrid-logout', clear);

/** @param {{endpoint: string, method: string, contentType: string, body?: string, status: number, ms: number}} entry */
export const keepTry = (entry) => write([{ ...entry, at: new Date().toISOString() }, ...read()]);

/** `onUse` fills in the input again. */
export const History = ({ endpoint, onUse }) => {
  const [all, setAll] = useState(read);
  useEffect(() => {
    const look = () => setAll(read());
    listeners.add(look);
    return () => listeners.delete(look);
  }, []);
  const entries = all.filter((each) => each.endpoint === endpoint);
  if (entries.length === 0) return null;
  return html`<section aria-labelledby="try-history">
    <h2 id="try-history">Tried in this tab</h2>
    <p class="quiet">
      Inputs may be data of patients. They are kept in this tab alone, until it is closed, somebody logs out, or you
      clear them.
    </p>
    <button class="plain" onClick=${clear}>Clear</button>
    <${Table}
      caption="Calls, the latest first"
      isHidden
      heads=${['When', 'Input', 'Answer', 'Again']}
      rows=${entries.map((each) => ({
        key: each.at,
        cells: [
          html`<${Time} at=${each.at} />`,
          html`<code>${(each.body ?? '').slice(0, 80)}</code>`,
          each.status + ', ' + duration(each.ms),
          each.body !== undefined &&
            html`<button class="plain" aria-label=${'Use the input of ' + each.at} onClick=${() => onUse(each)}>
              Use
            </button>`,
        ],
      }))}
    />
  </section>`;
};
