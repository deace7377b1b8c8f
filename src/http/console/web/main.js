// The frame of the console: where one is, the login, and the view that the address names.
import { loginForm, loginHeaders } from 'kgrid/login';
import { Activity } from './activity/activity.js';
import { base, onLoginNeeded } from './shared/api.js';
import { connect, useConnection, useEvents, useServiceState } from './shared/events.js';
import { html, render, useEffect, useLayoutEffect, useRef, useState } from './shared/html.js';
import { AddKnowledgeObject } from './add/add.js';
import { KnowledgeObject } from './knowledge-objects/knowledge-object.js';
import { KnowledgeObjects } from './knowledge-objects/knowledge-objects.js';
import { Undo } from './knowledge-objects/undo.js';
import { Overview } from './overview/overview.js';
import { Try } from './try/try.js';

/** By the first part of the address behind `#/`. A view gets what follows it. */
const VIEWS = [
  { name: '', title: 'Overview', view: Overview },
  {
    name: 'kos',
    title: 'Knowledge objects',
    view: ({ path }) => (path === '' ? html`<${KnowledgeObjects} />` : html`<${KnowledgeObject} path=${path} />`),
  },
  { name: 'add', title: 'Add', view: AddKnowledgeObject },
  { name: 'try', title: 'Try', view: Try },
  { name: 'activity', title: 'Activity', view: Activity },
];

const placeOf = () => {
  const [name, ...rest] = location.hash.replace(/^#\/?/, '').split('?', 1)[0].split('/').map(decode);
  return { name, path: rest.join('/') };
};

const decode = (part) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

const usePlace = () => {
  const [place, setPlace] = useState(placeOf);
  useEffect(() => {
    const change = () => setPlace(placeOf());
    addEventListener('hashchange', change);
    return () => removeEventListener('hashchange', change);
  }, []);
  return place;
};

const isLoggedIn = () => 'authorization' in loginHeaders();

const Login = ({ isNeeded, onChange }) => {
  const place = useRef(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  useEffect(() => {
    const why = 'The console needs a login, which is kept in this tab alone.';
    place.current.replaceChildren(loginForm(base, why, () => changed.current()));
  }, []);
  useEffect(() => {
    if (!isNeeded) return;
    place.current.querySelector('details').open = true;
    place.current.querySelector('input').focus();
  }, [isNeeded]);
  // Where nobody needs one, none is asked for.
  return html`<div class="console-login" ref=${place} hidden=${!isNeeded && !isLoggedIn()}></div>`;
};

const Navigation = ({ name }) => html`
  <nav aria-label="Console">
    <ul>
      ${VIEWS.map(
        (each) =>
          html`<li>
            <a href=${'#/' + each.name} aria-current=${each.name === name ? 'page' : undefined}>${each.title}</a>
          </li>`,
      )}
    </ul>
  </nav>
`;

const STATUS = { UP: 'up', DEGRADED: 'degraded', DOWN: 'down' };

/** Health at a glance, on every view. */
const Status = () => {
  const state = useServiceState();
  const connection = useConnection();
  const isLost = connection?.up === false && connection.status === undefined;
  const word = isLost ? 'no connection' : state === undefined ? '' : (STATUS[state.status] ?? state.status);
  const kind = isLost ? 'bad' : state?.status === 'UP' ? 'good' : 'wait';
  return html`<p class="console-status" role="status" data-kind=${kind}>${word}</p>`;
};

const Console = () => {
  const { name, path } = usePlace();
  const [isLoginNeeded, setLoginNeeded] = useState(false);
  const [logins, setLogins] = useState(0);
  const main = useRef(null);
  const isFirst = useRef(true);
  const view = VIEWS.find((each) => each.name === name);
  useEffect(() => onLoginNeeded(() => setLoginNeeded(true)), []);
  useEvents('connection', ({ status }) => status === 401 && setLoginNeeded(true));
  useEffect(connect, [logins]);
  useLayoutEffect(() => {
    document.title = [path, view?.title ?? 'Not found', 'KGrid Activator'].filter(Boolean).join(' · ');
    // Whoever followed a link goes on reading there; at the start the browser has its own place.
    if (!isFirst.current) main.current.focus();
    isFirst.current = false;
  }, [name, path]);
  const onLogin = () => {
    setLoginNeeded(false);
    setLogins((before) => before + 1);
  };
  return html`
    <a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), main.current.focus())}
      >Skip to the content</a
    >
    <header>
      <div class="console-title">
        <a href=${base || '/'}>KGrid Activator</a>
        <${Status} />
      </div>
      <${Navigation} name=${name} />
      <${Login} isNeeded=${isLoginNeeded} onChange=${onLogin} />
    </header>
    <${Undo} />
    <main id="main" tabindex="-1" ref=${main} key=${logins}>
      ${
        view === undefined
          ? html`<h1>Not found</h1>
              <p>The console has no such place. <a href="#/">To the overview</a></p>`
          : html`<${view.view} path=${path} key=${name} />`
      }
    </main>
  `;
};

const place = document.getElementById('console');
place.replaceChildren();
render(html`<${Console} />`, place);
