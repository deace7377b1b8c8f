// What differs between two packages: files, and the lines of one that is chosen.
import { html, useState } from '../shared/html.js';
import { countOf, Table, Waiting } from '../shared/parts.js';
import { cutLine } from '../shared/text-lines.js';
import { useResult } from '../shared/use-result.js';
import { differingFiles, differingLines } from './compare-packages.js';

const MOST_LINES = 3000;
const MOST_FILES = 500;
const KIND = { '+': 'added', '-': 'removed', ' ': 'same', '…': 'left out' };

const Lines = ({ from, to, file }) => {
  const found = useResult(file.path, (signal) => differingLines(from, to, file, signal));
  const { data } = found;
  if (data === undefined) return html`<${Waiting} of=${found} />`;
  if (data.why !== undefined) return html`<p class="note">${data.why}</p>`;
  const more = data.lines.length - MOST_LINES;
  return html`
    <div class="text" role="region" aria-label=${'Lines of ' + file.path + ' that differ'} tabindex="0">
      <table class="diff">
        <thead class="unseen">
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
                <td>${kind}<span class="unseen"> ${KIND[kind]}</span></td>
                <td><code>${cutLine(text)}</code></td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${more > 0 && html`<p class="note">${countOf(more, 'more line')} not shown.</p>`}
  `;
};

/** @param {{from: import('../shared/packages.js').Source, to: import('../shared/packages.js').Source}} props */
export const Compared = ({ from, to }) => {
  const found = useResult(from.key + ' ' + to.key, (signal) => differingFiles(from, to, signal));
  const { data } = found;
  const [path, setPath] = useState();
  if (data === undefined) return html`<${Waiting} of=${found} />`;
  const file = data.find((each) => each.path === path) ?? (data.length === 1 ? data[0] : undefined);
  const words = `from ${from.label} to ${to.label}`;
  if (data.length === 0) return html`<p role="status">No file differs ${words}.</p>`;
  return html`
    <p role="status">${countOf(data.length, 'file differs', 'files differ')} ${words}.</p>
    <${Table}
      caption=${'Files that differ ' + words}
      isHidden
      heads=${['File', 'Change', 'Lines']}
      rows=${data.slice(0, MOST_FILES).map((each) => ({
        key: each.path,
        cells: [
          each.path,
          each.change,
          html`<button
            class="plain"
            aria-pressed=${each === file}
            aria-label=${'Lines of ' + each.path}
            onClick=${() => setPath(each.path)}
          >
            Lines
          </button>`,
        ],
      }))}
    />
    ${
      file !== undefined &&
      html`<h3>${file.path}</h3>
        <${Lines} key=${file.path} from=${from} to=${to} file=${file} />`
    }
  `;
};
