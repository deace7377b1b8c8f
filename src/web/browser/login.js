// The page where one logs in.
import { logIn } from './session.js';
import { html } from './shared/html.js';
import { Problem } from './shared/parts.js';
import { useAction } from './shared/use-result.js';
import { setWho } from './shared/who.js';

/** `query`: `to` is where one came from. `isPart`: of a page that has a heading. */
export const Login = ({ query = '', why = '', isPart = false }) => {
  const [state, run] = useAction();
  const submit = async (event) => {
    event.preventDefault();
    const { user, password, token } = event.currentTarget.elements;
    const given = { user: user.value, password: password.value, token: token.value };
    const isIn = await run('Logging in…', async () => {
      setWho(await logIn(given));
      return true;
    });
    const to = new URLSearchParams(query).get('to') ?? '#/';
    if (isIn && location.hash.startsWith('#/login')) location.hash = to.startsWith('#/login') ? '#/' : to;
  };
  return html`
    <div class="login">
      ${isPart ? html`<h2>Log in</h2>` : html`<h1>Log in</h1>`} ${why && html`<p>${why}</p>`}
      <form onSubmit=${submit}>
        <label>User <input name="user" autocomplete="username" spellcheck="false" autocapitalize="none" /></label>
        <label>Password <input name="password" type="password" autocomplete="current-password" /></label>
        <details>
          <summary>Log in with a token</summary>
          <label>Token or API key <input name="token" type="password" autocomplete="off" spellcheck="false" /></label>
        </details>
        <${Problem} error=${state.error} />
        <button type="submit" disabled=${state.doing !== undefined}>Log in</button>
        <p class="quiet" role="status">
          ${state.doing ?? 'The login is kept in this tab alone, and goes when the tab is closed.'}
        </p>
      </form>
    </div>
  `;
};
