// Lists what runs and what does not, and follows what changes while somebody looks.
import { card, WORDS } from './card.js';
import { loginForm, loginHeaders } from './login.js';
import { objectsOf } from './objects.js';
import { read } from './read.js';
import { isFoundBy, searchTextOf } from './search.js';

/** Milliseconds until the page looks again: while something is being activated, and at other times. */
const FIRST_WAIT = 1000;
const WAIT = 5000;
const LONGEST_WAIT = 15000;

const list = document.getElementById('list');
const form = document.querySelector('form.filter');
const problem = document.getElementById('problem');
const hint = document.getElementById('hint');
const base = location.href.split(/[?#]/, 1)[0].replace(/\/$/, '');
let objects = [];
let etag = '';
/** The cards that are shown, by the paths of their objects, with the text that they were made of. */
let cards = new Map();

const counts = (shown) => {
  const all = objects.flatMap((each) => each.endpoints).filter((each) => each.status !== 'NONE');
  const of = (status) => all.filter((each) => each.status === status).length;
  const others = ['FAILED_TO_ACTIVATE', 'LOADED'].filter(of).map((status) => ', ' + of(status) + ' ' + WORDS[status]);
  const idle = objects.filter(({ endpoints }) => endpoints.some((each) => each.status === 'NONE')).length;
  const rest = idle === 0 ? '' : '; ' + idle + ' knowledge object' + (idle === 1 ? '' : 's') + ' ' + WORDS.NONE;
  const some = shown === undefined ? '' : '. ' + shown + (shown === 1 ? ' matches' : ' match');
  return of('ACTIVATED') + ' of ' + all.length + ' endpoints active' + others.join('') + rest + some;
};

/** What has not changed stays the very element that it is: with its focus, its place and what was opened in it. */
const cardFor = (object, endpoints) => {
  const made = JSON.stringify([object, endpoints]);
  const known = cards.get(object.path);
  if (known?.made === made) return known;
  const place = card(object, endpoints);
  if (known?.place.querySelector('details')?.open) place.querySelector('details')?.setAttribute('open', '');
  return { made, place };
};

const showCards = (shown) => {
  const focused = document.activeElement;
  const href = list.contains(focused) ? focused.getAttribute('href') : null;
  cards = new Map(shown.map(({ object, endpoints }) => [object.path, cardFor(object, endpoints)]));
  const wanted = new Set([...cards.values()].map(({ place }) => place));
  for (const place of [...list.children]) if (!wanted.has(place)) place.remove();
  let at = list.firstElementChild;
  for (const place of wanted) {
    if (place === at) at = at.nextElementSibling;
    else list.insertBefore(place, at);
  }
  // Whoever was on a link of a card that changed is on the same link of the new one.
  if (href !== null && !focused.isConnected)
    [...list.querySelectorAll('a')].find((each) => each.getAttribute('href') === href)?.focus({ preventScroll: true });
};

const setText = (place, text) => {
  // What is said again, although nothing changed, is read out again.
  if (place.textContent !== text) place.textContent = text;
};

const show = () => {
  const text = form.elements.q.value;
  const status = form.elements.status.value;
  const matches = (object) => (endpoint) =>
    (status === '' || endpoint.status === status) &&
    isFoundBy(
      searchTextOf([object.path, endpoint['@id'], endpoint.engine, object.title, object.keywords, object.atId ?? '']),
      text,
    );
  const shown = objects
    .map((object) => ({ object, endpoints: object.endpoints.filter(matches(object)) }))
    .filter(({ endpoints }) => endpoints.length > 0);
  showCards(shown);
  const isFiltered = text.trim() !== '' || status !== '';
  const left = isFiltered ? shown.flatMap(({ endpoints }) => endpoints).length : undefined;
  setText(document.getElementById('counts'), counts(left));
  document.getElementById('empty').hidden = objects.length > 0;
  form.hidden = objects.length === 0;
};

/** What is wrong and is not in the list, for those who may not see details. */
const hintOf = ({ unreadable }, failures) => {
  if (unreadable === 0 || failures !== undefined) return '';
  const what = unreadable === 1 ? 'One thing' : unreadable + ' things';
  return (
    what + ' on the shelf cannot be read, so that not all knowledge objects are here. A login shows which, and why.'
  );
};

const showLogin = ({ details, execution }) => {
  const place = document.getElementById('login');
  if (place.childElementCount > 0 || !(details || execution)) return;
  const why = 'A login shows what is wrong with knowledge objects that do not run. It is kept in this tab alone.';
  place.append(loginForm('', why, () => look(true).catch(complain)));
};

const isVisible = () =>
  new Promise((resolve) => {
    const visible = () => {
      if (document.hidden) document.addEventListener('visibilitychange', visible, { once: true });
      else resolve();
    };
    visible();
  });

/** Reads what there is, where anything changed since. */
const look = async (anyway) => {
  const headers = { accept: 'application/json', ...(etag === '' || anyway ? {} : { 'if-none-match': etag }) };
  const response = await fetch('doc/overview.json', { headers, cache: 'no-store' });
  if (response.status === 304) return;
  if (!response.ok) throw new Error('/doc/overview.json answers ' + response.status);
  const state = await response.json();
  const paths = ['endpoints', 'kos', 'actuator/health'];
  const [endpoints, shelf, health] = await Promise.all(paths.map((path) => read(path, loginHeaders())));
  const failures = health.components?.activationService?.details?.failures;
  objects = objectsOf({ endpoints, shelf, failures, state });
  showLogin(state.login);
  setText(hint, hintOf(state, failures));
  show();
  etag = response.headers.get('etag') ?? '';
};

const complain = (error) => {
  problem.hidden = false;
  setText(problem, 'The list of endpoints cannot be read: ' + error.message + '. It is tried again.');
  if (objects.length === 0) document.getElementById('counts').textContent = '';
};

const follow = async () => {
  let wait = FIRST_WAIT;
  for (;;) {
    await isVisible();
    const before = etag;
    try {
      await look();
      problem.hidden = true;
    } catch (error) {
      complain(error);
    }
    const isLoading = objects.some(({ endpoints }) => endpoints.some((each) => each.status === 'LOADED'));
    wait = !isLoading || !problem.hidden ? WAIT : etag === before ? Math.min(wait * 1.5, LONGEST_WAIT) : FIRST_WAIT;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
};

const readAddress = () => {
  const wanted = new URLSearchParams(location.search);
  form.elements.q.value = wanted.get('q') ?? '';
  form.elements.status.value = wanted.get('status') ?? '';
  // A status that there is not is none.
  if (form.elements.status.selectedIndex < 0) form.elements.status.value = '';
};

const writeAddress = () => {
  const wanted = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ''));
  history.replaceState(null, '', location.pathname + (wanted.size === 0 ? '' : '?' + wanted));
};

document.querySelector('#empty pre').textContent =
  'curl -F ko=@my-knowledge-object.zip ' + base + '/kos\ncurl ' + base + '/actuator/activation/refresh';
readAddress();
form.addEventListener('input', () => {
  writeAddress();
  show();
});
form.addEventListener('submit', (event) => event.preventDefault());
addEventListener('popstate', () => {
  readAddress();
  show();
});
void follow();
