// What came of a call.
import { leadsElsewhere } from '../session.js';
import { base, pathOf } from './api.js';
import { html, Pre } from './html.js';
import { visible } from './text-lines.js';
import { Frames } from './failures.js';
import { Digest, duration } from './parts.js';
import { useLoaded } from './use-result.js';
import { useMay } from './who.js';

const MOST_CHARACTERS = 100_000;

export const cutText = (text) => visible(text.length > MOST_CHARACTERS ? text.slice(0, MOST_CHARACTERS) + ' …' : text);

export const asText = (value) =>
  cutText(typeof value === 'string' ? value : (JSON.stringify(value, undefined, 2) ?? 'nothing'));

const Fact = ({ name, value }) =>
  value &&
  html`<div>
    <dt>${name}</dt>
    <dd><code>${value}</code></dd>
  </div>`;

/** Where in the code it failed, which whoever may see the failures of the service is told. */
const Place = ({ ko, requestId }) => {
  const mayKnow = useMay('ko-details');
  const { data } = useLoaded(mayKnow ? 'actuator/failures?' + new URLSearchParams({ ko, limit: '20' }) : undefined);
  const found = data?.find((each) => each.requestId === requestId);
  return (
    found?.place &&
    html`<div>
      <dt>Place in the code</dt>
      <dd><${Frames} ...${found} /></dd>
    </div>`
  );
};

/** A resource endpoint gives the files that it has. */
const Resources = ({ endpoint, result }) =>
  Array.isArray(result) &&
  html`<ul class="files">
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
    <div class="values">
      <${Pre} label="Answer" text=${answer.isDone ? asText(answer.result) : cutText(answer.detail)} />
    </div>
    ${method === 'get' && answer.isDone && html`<${Resources} endpoint=${endpoint} result=${answer.result} />`}
    <dl class="facts">
      <${Fact} name="Status" value=${answer.status} />
      <${Fact} name="Time" value=${duration(answer.ms)} />
      <${Fact} name="Execution" value=${answer.executionId} />
      ${
        answer.digest &&
        html`<div>
          <dt>Package</dt>
          <dd><${Digest} of=${answer.digest} /></dd>
        </div>`
      }
      ${!answer.isDone && html`<${Place} key=${answer.requestId} ko=${ko} requestId=${answer.requestId} />`}
      <${Fact} name="Request" value=${answer.requestId} />
    </dl>
    ${
      answer.info !== undefined &&
      html`<details>
        <summary>Info of the answer</summary>
        <div class="values">
          <${Pre} label="Info of the answer" text=${asText(answer.info)} />
        </div>
      </details>`
    }
  </section>
`;
