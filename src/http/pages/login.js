// A login for this tab: it is sent to this service alone, stands in no address, and goes when the tab is closed.
import { element } from './element.js';

const KEPT = 'kgrid-authorization';

/** Headers of a request with the login that was given, if any. A browser asks for no other. */
export function loginHeaders() {
  const authorization = sessionStorage.getItem(KEPT);
  return authorization === null ? {} : { authorization };
}

/** Whether a path has parts that lead to another one than is written: no login goes there. */
export const leadsElsewhere = (path) => /\/(?:\.|%2e){1,2}(?:[/?#]|$)|\\/i.test(path);

const inBase64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

const isAccepted = async (base) => {
  const response = await fetch(base + 'actuator/health', { headers: loginHeaders(), credentials: 'omit' });
  return response.ok && (await response.json()).components !== undefined;
};

const field = (words, name, type, autocomplete) =>
  element('label', [words + ' ', element('input', [], { name, type, autocomplete, spellcheck: 'false' })]);

/** A form for a login. `why` says what it is good for; `onChange` is called when there is another, or none. */
export function loginForm(base, why, onChange) {
  const said = element('p', [], { 'aria-live': 'polite' });
  const forget = element('button', 'Log out', { type: 'button' });
  const form = element('form', [
    element('p', why),
    field('User', 'user', 'text', 'username'),
    field('Password', 'password', 'password', 'current-password'),
    field('or token', 'token', 'password', 'off'),
    element('button', 'Log in', { type: 'submit' }),
    forget,
    said,
  ]);
  const box = element('details', [element('summary', 'Log in'), form], { class: 'login' });
  const show = (text) => {
    const isLoggedIn = sessionStorage.getItem(KEPT) !== null;
    box.querySelector('summary').textContent = isLoggedIn ? 'Logged in' : 'Log in';
    forget.hidden = !isLoggedIn;
    said.textContent = text;
  };
  const logOut = (text) => {
    sessionStorage.removeItem(KEPT);
    show(text);
  };
  const logIn = async () => {
    const { user, password, token } = form.elements;
    const given = token.value.trim();
    if (given === '' && user.value === '') return show('Type a user and a password, or a token.');
    // What no header can carry would end as an error without words.
    if (!/^[\x21-\x7e]*$/.test(given)) return show('A token has letters, digits and signs, and no spaces.');
    const credentials = given === '' ? 'Basic ' + inBase64(user.value + ':' + password.value) : 'Bearer ' + given;
    sessionStorage.setItem(KEPT, credentials);
    if (!(await isAccepted(base))) logOut('This login is not accepted.');
    else {
      form.reset();
      show('Logged in, until this tab is closed.');
    }
    onChange();
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    logIn().catch((error) => logOut('The login cannot be tried: ' + error.message));
  });
  forget.addEventListener('click', () => {
    logOut('Logged out.');
    // What pages keep of somebody goes too.
    dispatchEvent(new Event('kgrid-logout'));
    form.elements.user.focus();
    onChange();
  });
  show('');
  return box;
}
