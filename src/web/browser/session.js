// Who is here: a login of this tab, which is sent to this service alone, stands in no address, and goes when the tab is closed.

const KEPT = 'kgrid-authorization';

/** Address of the service, with a slash at its end: it may live below a path behind a proxy. */
export const base = location.pathname.replace(/(?:doc|console)\/?$/, '');

/** Headers of a request with the login that was given, if any. A browser asks for no other. */
export function loginHeaders() {
  const authorization = sessionStorage.getItem(KEPT);
  return authorization === null ? {} : { authorization };
}

/** Whether a path has parts that lead to another one than is written: no login goes there. */
export const leadsElsewhere = (path) => /\/(?:\.|%2e){1,2}(?:[/?#]|$)|\\/i.test(path);

/**
 * @typedef {{name: string, kind: string, may: string[]}} Session
 * `may`: what whoever is here is allowed to do.
 */

/** @returns {Promise<Session>} as the service sees this tab */
export async function readSession() {
  const headers = { accept: 'application/json', ...loginHeaders() };
  const response = await fetch(base + 'doc/session', { headers, cache: 'no-store', credentials: 'omit' });
  if (!response.ok) throw new Error('The service answers ' + response.status);
  return response.json();
}

const inBase64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** @throws with the reason for people. */
export async function logIn({ user, password, token }) {
  const given = token.trim();
  if (given === '' && user === '') throw new Error('Type a user and a password, or a token.');
  // What no header can carry would end as an error without words.
  if (!/^[\x21-\x7e]*$/.test(given)) throw new Error('A token has letters, digits and signs, and no spaces.');
  sessionStorage.setItem(KEPT, given === '' ? 'Basic ' + inBase64(user + ':' + password) : 'Bearer ' + given);
  const session = await readSession().catch((error) => (forgetLogin(), Promise.reject(error)));
  if (session.kind !== 'anonymous') return session;
  forgetLogin();
  throw new Error('This login is not accepted.');
}

/** What pages keep of somebody goes too: they listen for `kgrid-logout`. */
export function logOut() {
  forgetLogin();
  dispatchEvent(new Event('kgrid-logout'));
}

export const forgetLogin = () => sessionStorage.removeItem(KEPT);
