// The frame of the front: where one is, who one is, and the view that the address names.
import { Activity } from './activity/activity.js';
import { Deleted } from './activity/deleted.js';
import { AddKnowledgeObject } from './add/add.js';
import { Catalogue } from './catalogue/catalogue.js';
import { Health } from './health/health.js';
import { KnowledgeObject } from './knowledge-object/knowledge-object.js';
import { Undo } from './knowledge-object/undo.js';
import { Login } from './login.js';
import { forgetLogin, logOut, loginHeaders } from './session.js';
import { connect, useConnection, useServiceState } from './shared/events.js';
import { html, render, useEffect, useLayoutEffect, useRef, useState } from './shared/html.js';
import { Problem } from './shared/parts.js';
import { readWho, useMay, useWho } from './shared/who.js';

/** By the first part of the address behind `#/`; a view gets what follows it. `needs`: what whoever looks must be allowed. */
const VIEWS = [
  { name: '', title: 'Catalogue', view: Catalogue },
  { name: 'health', title: 'Health', needs: 'info', view: Health },
  { name: 'add', title: 'Add', needs: 'shelf-write', view: AddKnowledgeObject },
  { name: 'activity', title: 'Activity', needs: 'info', view: Activity },
  { name: 'deleted', title: 'Deleted', needs: 'ko-details', isInMenu: false, view: Deleted },
  { name: 'login', title: 'Log in', isInMenu: false, view: Login },
  { name: 'kos', title: 'Knowledge object', isInMenu: false, view: KnowledgeObject },
];

const decode = (part) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

const placeOf = () => {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  const [name, ...rest] = path.split('/').map(decode);
  return { name, path: rest.join('/'), query };
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

const STATUS = { UP: 'up', DEGRADED: 'degraded', DOWN: 'down', STARTING: 'starting' };

/** Health at a glance, on every view of an operator. */
const Status = () => {
  const state = useServiceState();
  const connection = useConnection();
  const isLost = connection?.up === false && connection.status === undefined;
  const word = isLost ? 'no connection' : state === undefined ? '' : (STATUS[state.status] ?? state.status);
  const kind = isLost ? 'bad' : state?.status === 'UP' ? 'good' : 'wait';
  return html`<span role="status"><a class="state" href="#/health" data-kind=${kind}>${word}</a></span>`;
};

const Who = ({ place }) => {
  const who = useWho();
  if (who === undefined) return null;
  if (who.kind === 'anonymous')
    return place.name === 'login'
      ? null
      : html`<a class="button plain" href=${'#/login?' + new URLSearchParams({ to: location.hash })}>Log in</a>`;
  // Where nobody needs a login, nobody can log out.
  if (!('authorization' in loginHeaders())) return html`<span class="chip">${who.name}</span>`;
  const leave = () => {
    logOut();
    location.hash = '#/';
    void readWho();
  };
  return html`<span class="chip">${who.name} <button class="plain" onClick=${leave}>Log out</button></span>`;
};

const Navigation = ({ name }) => {
  const who = useWho();
  const shown = VIEWS.filter(
    ({ needs, isInMenu }) => isInMenu !== false && (needs === undefined || who?.may.includes(needs)),
  );
  return (
    shown.length > 1 &&
    html`<nav aria-label="Main">
      <ul>
        ${shown.map(
          (each) =>
            html`<li>
              <a href=${'#/' + each.name} aria-current=${each.name === name ? 'page' : undefined}>${each.title}</a>
            </li>`,
        )}
      </ul>
    </nav>`
  );
};

/** Shown where a view needs a login, or more than this one gives. */
const Refused = ({ view }) => {
  const who = useWho();
  if (who?.kind === 'anonymous') return html`<${Login} why=${view.title + ' needs a login.'} />`;
  return html`<h1>${view.title}</h1>
    <p class="empty">${who.name} may not see this. Whoever runs the service can allow it.</p>`;
};

const View = ({ place: { name, path, query } }) => {
  const view = VIEWS.find((each) => each.name === name);
  const who = useWho();
  if (view === undefined)
    return html`<h1>Not found</h1>
      <p class="empty">There is no such page. <a href="#/">To the catalogue</a></p>`;
  if (view.needs !== undefined && !who.may.includes(view.needs)) return html`<${Refused} view=${view} />`;
  return html`<${view.view} path=${path} query=${query} key=${name} />`;
};

const Front = () => {
  const place = usePlace();
  const who = useWho();
  const isOperator = useMay('info');
  const [error, setError] = useState();
  const main = useRef(null);
  const shown = useRef(undefined);
  const read = () => readWho().then(() => setError(undefined), setError);
  useEffect(() => {
    const lost = () => {
      // One that has ended is none: whoever goes on as nobody is asked for another where it is needed.
      if ('authorization' in loginHeaders()) forgetLogin();
      void read();
    };
    addEventListener('kgrid-login-needed', lost);
    void read();
    return () => removeEventListener('kgrid-login-needed', lost);
  }, []);
  useEffect(() => (isOperator ? connect() : undefined), [isOperator, who?.name]);
  useLayoutEffect(() => {
    const title = VIEWS.find(({ name }) => name === place.name)?.title ?? 'Not found';
    document.title = [place.path || title, 'KGrid Activator'].join(' · ');
    // Whoever followed a link goes on reading there; at the start the browser has its own place.
    if (shown.current !== undefined && shown.current !== place.name + '/' + place.path) main.current.focus();
    shown.current = place.name + '/' + place.path;
  }, [place.name, place.path]);
  const skip = (event) => (event.preventDefault(), main.current.focus());
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="top">
      <a class="brand" href="#/">KGrid Activator</a>
      ${isOperator && html`<${Status} />`}
      <${Navigation} name=${place.name} />
      <div class="who"><${Who} place=${place} /></div>
    </header>
    <${Undo} />
    <main id="main" tabindex="-1" ref=${main}>
      <${Problem} error=${error} />
      ${
        who === undefined
          ? !error && html`<p class="waiting" role="status">Loading…</p>`
          : html`<${View} place=${place} key=${who.name + who.kind} />`
      }
    </main>
    <footer>
      <a href="doc?url=/openapi.yaml">Interface of this service (OpenAPI)</a>
      <a href="endpoints">Endpoints as JSON</a>
      <a href="kos">Knowledge objects as JSON</a>
    </footer>
  `;
};

const place = document.getElementById('front');
place.replaceChildren();
render(html`<${Front} />`, place);
