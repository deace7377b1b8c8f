// Shows the same call for programs, to be copied.
import { loginHeaders } from '../session.js';
import { base, pathOf } from '../shared/api.js';
import { html, useId, useRef, useState } from '../shared/html.js';
import { cannotHold, LANGUAGES } from './code.js';

export const CopyAs = ({ endpoint, method, contentType, body }) => {
  const id = useId();
  const [language, setLanguage] = useState('curl');
  const [said, setSaid] = useState('');
  const place = useRef(null);
  const url = new URL(base + pathOf(endpoint), location.href).href;
  const hasLogin = loginHeaders().authorization !== undefined;
  const code = cannotHold(language, body)
    ? 'R has no text with this input.'
    : LANGUAGES[language].codeOf({ url, method: method.toUpperCase(), contentType, body, hasLogin });
  const copy = async () => {
    place.current.select();
    try {
      await navigator.clipboard.writeText(code);
      setSaid('Copied.');
    } catch {
      // Pages that did not come by TLS have no clipboard of this kind.
      setSaid(document.execCommand('copy') ? 'Copied.' : 'It is selected: copy it with the keyboard.');
    }
  };
  return html`<details class="copy" onToggle=${() => setSaid('')}>
    <summary>Copy as code</summary>
    <div class="row">
      <label
        >Language
        <select value=${language} onChange=${(event) => (setLanguage(event.currentTarget.value), setSaid(''))}>
          ${Object.entries(LANGUAGES).map(([name, { title }]) => html`<option value=${name}>${title}</option>`)}
        </select>
      </label>
      <button class="plain" onClick=${copy}>Copy</button>
      <p role="status">${said}</p>
    </div>
    ${hasLogin && html`<p class="quiet">It takes the login from KGRID_AUTHORIZATION, such as Bearer …: yours is not copied.</p>`}
    <label for=${id}>Code</label>
    <textarea id=${id} ref=${place} rows="12" readonly spellcheck="false" value=${code}></textarea>
  </details>`;
};
