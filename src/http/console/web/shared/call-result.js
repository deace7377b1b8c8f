// What came of a call.
import { leadsElsewhere } from 'kgrid/login';
import { base, pathOf } from './api.js';
import { html } from './html.js';
import { visible } from './text-lines.js';
import { duration } from './parts.js';
import { useConnection } from './events.js';
import { useLoaded } from './use-loaded.js';

const MOST_CHARACTERS = 100_000;

export const cutText = (text) => visible(text.length > MOST_CHARACTERS ? text.slice(0, MOST_CHARACTERS) + ' …' : text);

const asText = (value) =>
  cutText(typeof value === 'string' ? value : (JSON.stringify(value, undefined, 2) ?? 'nothing'));

const Fact = ({ name, value }) =>
  value &&
  html`<div>
    <dt>${name}</dt>
    <dd><code>${value}</code></dd>
  </div>`;

/** Where in the code it failed, which whoever may see the failures of the service is told. */
const Place = ({ ko, requestId }) => {
  const isAllowed = useConnection()?.up === true;
  const query = new URLSearchParams({ ko, limit: '20' });
  const { data } = useLoaded(isAllowed ? 'actuator/failures?' + query : undefined);
  const place = data?.find((each) => each.requestId === requestId)?.place;
  return html`<${Fact} name="Place in the code" value=${place} />`;
};

/** A resource endpoint gives the files that it has. */
const Resources = ({ endpoint, result }) =>
  Array.isArray(result) &&
  html`<ul class="ko-files">
    ${result
      .filter((each) => typeof each === 'string' && !leadsElsewhere('/' + each))
      .slice(0, 200)
      .map(
        (each) => html`<li><a href=${base + pathOf(endpoint) + '/' + pathOf(each)} rel="noreferrer">${each}</a></li>`,
      )}
  </ul>`;

export const TryResult = ({ answer, ko, endpoint, method }) => html`
  <section aria-label="Result">
    <h2>${answer.isDone ? 'Result' : 'It failed: ' + answer.title}</h2>
    <div class="ko-values">
      <pre tabindex="0" role="region" aria-label="Answer">
${answer.isDone ? asText(answer.result) : cutText(answer.detail)}</pre>
    </div>
    ${method === 'get' && answer.isDone && html`<${Resources} endpoint=${endpoint} result=${answer.result} />`}
    <dl class="facts">
      <${Fact} name="Status" value=${answer.status} />
      <${Fact} name="Time" value=${duration(answer.ms)} />
      <${Fact} name="Execution" value=${answer.executionId} />
      <${Fact} name="Package" value=${answer.digest} />
      ${!answer.isDone && html`<${Place} key=${answer.requestId} ko=${ko} requestId=${answer.requestId} />`}
      <${Fact} name="Request" value=${answer.requestId} />
    </dl>
    ${
      answer.info !== undefined &&
      html`<details>
        <summary>Info of the answer</summary>
        <div class="ko-values">
          <pre tabindex="0" role="region" aria-label="Info of the answer">${asText(answer.info)}</pre>
        </div>
      </details>`
    }
  </section>
`;
