// The form of one endpoint, its examples, and what came of the last call.
import { html, useEffect, useRef, useState } from '../shared/html.js';
import { useCheck } from './form/check.js';
import { initial } from './form/schema.js';
import { Empty, Problem } from '../shared/parts.js';
import { call } from '../shared/call-endpoint.js';
import { CopyAs } from './copy.js';
import { bodyOf, draftOf, isJson, keepDraft } from './draft.js';
import { History, keepTry } from './history.js';
import { TryInput } from './input.js';
import { TryResult } from '../shared/call-result.js';

/** What is shown first: what was being written, else an example, else what the schema asks for. */
const firstDraft = ({ schema, examples, contentTypes }) => {
  const contentType = contentTypes.find(isJson) ?? contentTypes[0] ?? 'application/json';
  const example = examples.find((each) => isJson(each.contentType) === isJson(contentType));
  return {
    contentType: example?.contentType ?? contentType,
    isForm: schema !== null,
    value: example?.input ?? (schema === null ? undefined : initial(schema, schema.$defs ?? {})),
    text: typeof example?.input === 'string' ? example.input : '',
  };
};

export const TryEndpoint = ({ form, ko }) => {
  const { endpoint, method, schema, summary, description, problem, examples } = form;
  const key = method + ' ' + endpoint;
  const [draft, setDraft] = useState(() => draftOf(key) ?? firstDraft(form));
  const [sent, setSent] = useState(/** @type {{answer?: any, error?: any, isRunning?: boolean}} */ ({}));
  const stop = useRef(null);
  const isPost = method !== 'get';
  const body = isPost ? bodyOf(draft) : undefined;
  const { errors, why } = useCheck(isJson(draft.contentType) ? schema : null, body);
  const change = (next) => {
    keepDraft(key, next);
    setDraft(next);
  };
  useEffect(() => () => stop.current?.abort(), []);
  const submit = async () => {
    stop.current?.abort();
    const { signal } = (stop.current = new AbortController());
    setSent({ isRunning: true });
    const request = { endpoint, method, contentType: draft.contentType, body };
    try {
      const answer = await call({ ...request, signal });
      setSent({ answer });
      keepTry({ ...request, status: answer.status, ms: answer.ms });
    } catch (error) {
      setSent(signal.aborted ? {} : { error });
    }
  };
  const fill = ({ input, contentType }) =>
    change({
      ...draft,
      contentType,
      value: input,
      text: typeof input === 'string' ? input : JSON.stringify(input, undefined, 2),
    });
  return html`
    <p><span class="tag">${method.toUpperCase()}</span> <code>/${endpoint}</code></p>
    ${summary && html`<p><strong>${summary}</strong></p>`} ${description && html`<p class="lead">${description}</p>`}
    ${problem && html`<p class="note">Not all of its form can be shown: ${problem}</p>`}
    <div class="trial">
      <div>
        <form
          aria-label="Input"
          onSubmit=${(event) => {
            event.preventDefault();
            void submit();
          }}
        >
          ${
            isPost &&
            html`<${TryInput}
              form=${form}
              draft=${draft}
              onChange=${change}
              onExample=${fill}
              examples=${examples.filter(({ input }) => input !== undefined)}
              errors=${errors}
              why=${why}
            />`
          }
          <div class="row">
            <button type="submit" disabled=${sent.isRunning}>Send</button>
            ${sent.isRunning && html`<button type="button" class="plain" onClick=${() => stop.current.abort()}>Cancel</button>`}
            <p role="status">
              ${sent.isRunning ? 'Waiting for the answer…' : sent.answer ? 'Answered with ' + sent.answer.status : ''}
            </p>
          </div>
        </form>
        <${CopyAs} endpoint=${endpoint} method=${method} contentType=${draft.contentType} body=${body} />
      </div>
      <div class="answer">
        <div role="region" aria-label="What came" tabindex="0">
          <${Problem} error=${sent.error} />
          ${sent.error?.status === 401 && html`<p>Calls need a login here. <a href=${'#/login?' + new URLSearchParams({ to: location.hash })}>Log in</a>: what you typed stays.</p>`}
          ${sent.answer && html`<${TryResult} answer=${sent.answer} ko=${ko} endpoint=${endpoint} method=${method} />`}
          ${!sent.answer && !sent.error && html`<${Empty}>${sent.isRunning ? 'Waiting for the answer…' : 'The answer comes here.'}<//>`}
        </div>
      </div>
    </div>
    <${History}
      endpoint=${endpoint}
      onUse=${(entry) => fill({ input: inputOf(entry), contentType: entry.contentType })}
    />
  `;
};

/** What is no JSON stays the text that it was. */
function inputOf({ body, contentType }) {
  if (!isJson(contentType)) return body;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
