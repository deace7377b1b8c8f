// What a check says of a package, the worst first, and what differs from what is there.
import { html } from '../shared/html.js';
import { countOf, Table } from '../shared/parts.js';

const MOST = 200;
const KINDS = { problem: 'bad', error: 'bad', warning: 'wait' };
const ORDER = ['problem', 'error', 'warning'];

const placeOf = ({ file, line, column }) =>
  [file, line, column].filter((each) => each !== undefined && each !== null && each !== '').join(':');

const rank = ({ severity }) => (ORDER.includes(severity) ? ORDER.indexOf(severity) : ORDER.length);

const Findings = ({ findings }) =>
  findings.length > 0 &&
  html`<${Table}
      caption=${countOf(findings.length, 'finding')}
      heads=${['Where', 'What', 'Severity']}
      rows=${findings
        .toSorted((a, b) => rank(a) - rank(b))
        .slice(0, MOST)
        .map((each) => ({
          cells: [
            html`<code>${placeOf(each) || 'the package'}</code>`,
            each.message,
            html`<span data-kind=${KINDS[each.severity]}>${each.severity}</span>`,
          ],
        }))}
    />
    ${findings.length > MOST && html`<p class="note">And ${countOf(findings.length - MOST, 'more finding')}.</p>`}`;

const Differences = ({ differences }) =>
  differences.length > 0 &&
  html`<details>
    <summary>Show what differs</summary>
    <ul class="files">
      ${differences.slice(0, MOST).map(({ path, change }) => html`<li><code>${path}</code> <span class="quiet">${change}</span></li>`)}
    </ul>
    ${differences.length > MOST && html`<p class="note">And ${countOf(differences.length - MOST, 'more file')}.</p>`}
  </details>`;

const examplesIn = ({ passed, failed, notRun }) =>
  [
    passed > 0 && countOf(passed, 'worked example gives', 'worked examples give') + ' the expected result',
    failed > 0 && countOf(failed, 'does', 'do') + ' not',
    notRun > 0 && countOf(notRun, 'worked example was not run', 'worked examples were not run'),
  ]
    .filter(Boolean)
    .join(', ') + '.';

/** What an import would do, in few words. */
export function verdictOf({ ko, present, digest, differences, refused }) {
  if (!ko || refused) return { words: 'Cannot be imported', kind: 'bad' };
  if (!present) return { words: 'New: ' + ko, kind: 'good' };
  if (present.digest === digest) return { words: 'Same content as ' + ko, kind: 'quiet' };
  const n = differences?.length ?? 0;
  return { words: 'Replaces ' + ko + ': ' + countOf(n, 'file differs', 'files differ'), kind: 'wait' };
}

/** What `POST /actuator/check` says; `ko` is null where it cannot be imported. */
export const Checked = ({ checked: { findings = [], differences = [], present, refused, examples, untried } }) => html`
  ${present && !refused && html`<${Differences} differences=${differences} />`}
  ${findings.length === 0 && html`<p data-kind="good">The check finds nothing that is wrong.</p>`}
  <${Findings} findings=${findings} />
  ${examples && examples.passed + examples.failed + examples.notRun > 0 && html`<p>${examplesIn(examples)}</p>`}
  ${
    untried?.length > 0 &&
    html`<p class="quiet">
      Its code for ${untried.join(', ')} was not tried: that needs an engine that is not here, or packages, which are
      not installed for a trial.
    </p>`
  }
`;
