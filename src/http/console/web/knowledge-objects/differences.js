// What differs between two versions: files, and the lines of one that is chosen.
import { html, useState } from '../shared/html.js';
import { versionOf } from '../shared/knowledge-object-data.js';
import { differingFiles, differingLines } from './compare-packages.js';
import { cutLine } from '../shared/text-lines.js';
import { countOf, Problem, Table } from '../shared/parts.js';
import { useResult } from '../shared/use-result.js';

const MOST_LINES = 3000;
const MOST_FILES = 500;
const KIND = { '+': 'added', '-': 'removed', ' ': 'same', '…': 'left out' };

const Lines = ({ from, to, file }) => {
  const { data, error } = useResult(file.path, (signal) => differingLines(from, to, file, signal));
  if (data === undefined) return error ? html`<${Problem} error=${error} />` : html`<p>Comparing…</p>`;
  if (data.why !== undefined) return html`<p class="ko-note">${data.why}</p>`;
  const more = data.lines.length - MOST_LINES;
  return html`
    <div class="ko-text" role="region" aria-label=${'Lines of ' + file.path + ' that differ'} tabindex="0">
      <table class="ko-diff">
        <thead class="hidden-text">
          <tr>
            <th scope="col">Before</th>
            <th scope="col">Now</th>
            <th scope="col">Change</th>
            <th scope="col">Line</th>
          </tr>
        </thead>
        <tbody>
          ${data.lines.slice(0, MOST_LINES).map(
            ({ kind, old, now, text }) =>
              html`<tr data-change=${KIND[kind]}>
                <td class="number">${kind === '+' || kind === '…' ? '' : old}</td>
                <td class="number">${kind === '-' || kind === '…' ? '' : now}</td>
                <td><span aria-label=${KIND[kind]}>${kind}</span></td>
                <td><code>${cutLine(text)}</code></td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${more > 0 && html`<p class="ko-note">${countOf(more, 'more line')} not shown.</p>`}
  `;
};

export const Compared = ({ from, to, state }) => {
  const { data, error } = useResult(from + ' ' + to, (signal) => differingFiles(from, to, signal), state);
  const [path, setPath] = useState();
  if (data === undefined) return error ? html`<${Problem} error=${error} />` : html`<p role="status">Comparing…</p>`;
  const file = data.find((each) => each.path === path);
  const words = `from ${versionOf(from)} to ${versionOf(to)}`;
  if (data.length === 0) return html`<p role="status">No file differs ${words}.</p>`;
  return html`
    <p role="status">${countOf(data.length, 'file differs', 'files differ')} ${words}.</p>
    <${Table} caption=${'Files that differ ' + words} heads=${['File', 'Change', 'Lines']}>
      ${data.slice(0, MOST_FILES).map(
        (each) =>
          html`<tr key=${each.path}>
            <th scope="row">${each.path}</th>
            <td>${each.change}</td>
            <td>
              <button
                class="plain"
                aria-pressed=${each.path === path}
                aria-label=${'Lines of ' + each.path}
                onClick=${() => setPath(each.path === path ? undefined : each.path)}
              >
                Lines
              </button>
            </td>
          </tr>`,
      )}
    <//>
    ${
      file !== undefined &&
      html`<h3>${file.path}</h3>
        <${Lines} key=${path} from=${from} to=${to} file=${file} />`
    }
  `;
};
