// Knowledge objects of a page of the list, all versions of one together.
import { html } from '../shared/html.js';
import { hrefOf, KINDS, nameOf, versionOf, WORDS } from '../shared/knowledge-object-data.js';
import { countOf } from '../shared/parts.js';

/** How many endpoints are how, the worst first. */
const States = ({ endpoints }) => {
  if (endpoints.length === 0) return html`<span class="ko-state" data-kind="wait">nothing active</span>`;
  return ['FAILED_TO_ACTIVATE', 'LOADED', 'ACTIVATED'].map((status) => {
    const n = endpoints.filter((each) => each.status === status).length;
    return (
      n > 0 && html`<span class="ko-state" data-kind=${KINDS[status]}>${countOf(n, 'endpoint')} ${WORDS[status]}</span>`
    );
  });
};

const Calls = ({ id, calls }) => {
  if (calls === undefined) return '';
  const of = calls.byKo.get(id) ?? (calls.isAll ? { calls: 0, failed: 0 } : undefined);
  if (of === undefined) return html`<span class="quiet">few calls in the last hour</span>`;
  return html`<span class="quiet">${countOf(of.calls, 'call')} in the last hour</span>${
      of.failed > 0 && html`<span data-kind="bad">${of.failed.toLocaleString('en')} failed</span>`
    }`;
};

export const KoItems = ({ kos, endpoints, calls }) => html`
  <ul class="ko-items">
    ${[...Map.groupBy(kos, ({ id }) => nameOf(id))].map(([name, versions]) => {
      const newest = versions.at(-1);
      return html`<li key=${name}>
        <h2><a href=${hrefOf(newest.id)}>${newest.title}</a> <code>${name}</code></h2>
        <ul aria-label=${'Versions of ' + name}>
          ${versions.map(
            ({ id }) =>
              html`<li key=${id}>
                <a href=${hrefOf(id)} aria-label=${'Version ' + versionOf(id) + ' of ' + name}>${versionOf(id)}</a>
                <${States} endpoints=${endpoints.get(id) ?? []} />
                <${Calls} id=${id} calls=${calls} />
              </li>`,
          )}
        </ul>
      </li>`;
    })}
  </ul>
`;
