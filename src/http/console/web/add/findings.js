// What a check says of a package, the worst first, and what differs from what is there.
import { html } from '../shared/html.js';
import { hrefOf } from '../shared/knowledge-object-data.js';
import { countOf, Table } from '../shared/parts.js';

const MOST = 200;
const KINDS = { problem: 'bad', error: 'bad', warning: 'wait' };
const ORDER = ['problem', 'error', 'warning'];

const placeOf = ({ file, line, column }) =>
  [file, line, column].filter((each) => each !== undefined && each !== null).join(':');

const rank = ({ severity }) => (ORDER.includes(severity) ? ORDER.indexOf(severity) : ORDER.length);

const Findings = ({ findings }) => {
  if (findings.length === 0) return html`<p data-kind="good">The check finds nothing that is wrong.</p>`;
  const sorted = findings.toSorted((a, b) => rank(a) - rank(b));
  return html`
    <${Table} caption=${countOf(findings.length, 'finding')} heads=${['Severity', 'Where', 'What']}>
      ${sorted.slice(0, MOST).map(
        (each) =>
          html`<tr>
            <th scope="row" data-kind=${KINDS[each.severity]}>${each.severity}</th>
            <td><code>${placeOf(each)}</code></td>
            <td>${each.message}</td>
          </tr>`,
      )}
    <//>
    ${sorted.length > MOST && html`<p class="ko-note">And ${countOf(sorted.length - MOST, 'more finding')}.</p>`}
  `;
};

const Differences = ({ ko, differences }) => {
  if (differences.length === 0) return html`<p>It is the same as what is on the shelf.</p>`;
  return html`
    <${Table} caption=${'What differs from ' + ko + ' on the shelf'} heads=${['File', 'Change']}>
      ${differences.slice(0, MOST).map(
        ({ path, change }) =>
          html`<tr key=${path}>
            <th scope="row">${path}</th>
            <td>${change}</td>
          </tr>`,
      )}
    <//>
    ${differences.length > MOST && html`<p class="ko-note">And ${countOf(differences.length - MOST, 'more file')}.</p>`}
  `;
};

const examplesIn = ({ passed, failed, notRun }) =>
  [
    countOf(passed, 'worked example gives', 'worked examples give') + ' what they must',
    failed > 0 && failed.toLocaleString('en') + ' not',
    notRun > 0 && countOf(notRun, 'was not run', 'were not run'),
  ]
    .filter(Boolean)
    .join(', ') + '.';

/** What `POST /actuator/check` says; `ko` is null where it cannot be imported. */
export const Checked = ({ checked: { ko, present, findings, differences, examples, untried } }) => html`
  ${!ko && html`<p data-kind="bad">It cannot be imported as it is.</p>`}
  ${
    ko &&
    (present
      ? html`<p>It would replace <a href=${hrefOf(ko)}>${ko}</a>.</p>`
      : html`<p>It is new: <code>${ko}</code>.</p>`)
  }
  <${Findings} findings=${findings ?? []} />
  ${examples && examples.passed + examples.failed + examples.notRun > 0 && html`<p>${examplesIn(examples)}</p>`}
  ${untried?.length > 0 && html`<p>Its code was not tried, since there is no engine for it here: ${untried.join(', ')}.</p>`}
  ${present && html`<${Differences} ko=${ko} differences=${differences ?? []} />`}
`;
