// Packages that are dropped or chosen, those of one id together, with what a check finds before anything is replaced.
import { html, useState } from '../shared/html.js';
import { sizeOf } from '../shared/package-file-text.js';
import { countOf, hrefOf, Problem } from '../shared/parts.js';
import { Checked, verdictOf } from './findings.js';
import { activate, addFiles, check, importUpload, remove, useUploads } from './uploads.js';

const SAID = {
  waits: 'Waits for its turn.',
  checking: 'Is being checked, and its code is tried…',
  checked: 'Nothing is on the shelf yet.',
  importing: 'Is being imported…',
  activating: 'Is being activated…',
};

const said = ({ step, ko, replaced }) => {
  if (step === 'imported')
    return html`<a href=${hrefOf(ko)}>${ko}</a> is on the shelf${replaced && ', in place of what was there'}. It runs
      once it is activated.`;
  if (step === 'active') return html`<a href=${hrefOf(ko)}>${ko}</a> was activated.`;
  return SAID[step];
};

const Import = ({ upload: { number, file, check: checked } }) => {
  const { kind } = verdictOf(checked);
  if (kind === 'bad' || kind === 'quiet') return null;
  const words = checked.ok ? (checked.present ? 'Import and replace' : 'Import') : 'Import anyway';
  return html`<button
    class=${checked.ok ? '' : 'plain'}
    aria-label=${words + ' ' + file.name}
    onClick=${() => importUpload(number)}
  >
    ${words}
  </button>`;
};

const Upload = ({ upload }) => {
  const { number, file, step, ko, check: checked, error } = upload;
  const isBusy = ['checking', 'importing', 'activating'].includes(step);
  const isShown = checked && ['checked', 'importing'].includes(step);
  const verdict = checked && verdictOf(checked);
  const named = (words) => words + ' ' + file.name;
  const activateAndTry = async () => {
    await activate(number);
    location.hash = hrefOf(ko, 'try');
  };
  return html`<li>
    <div class="row">
      <h3 class="grow">${file.name} <span class="quiet">${sizeOf(file.size)}</span></h3>
      ${isShown && html`<strong data-kind=${verdict.kind}>${verdict.words}</strong>`}
      ${step === 'checked' && html`<${Import} upload=${upload} />`}
      ${step === 'imported' && html`<button aria-label=${named('Activate and try')} onClick=${activateAndTry}>Activate and try</button>`}
      ${
        (step === 'checked' || (step === 'waits' && error !== undefined)) &&
        html`<button class="plain" aria-label=${named('Check again')} onClick=${() => check(number)}>
          Check again
        </button>`
      }
      ${
        step === 'waits' &&
        error?.status === 503 &&
        html`<button class="plain" aria-label=${named('Import without a check')} onClick=${() => importUpload(number)}>
          Import without a check
        </button>`
      }
      <button
        class="plain"
        disabled=${isBusy}
        aria-label=${named('Remove from this list')}
        onClick=${() => remove(number)}
      >
        Remove
      </button>
    </div>
    <p role="status">${said(upload)}</p>
    <${Problem} error=${error} />
    ${isShown && html`<${Checked} checked=${checked} />`}
  </li>`;
};

/** Those of one id stand together, and what has none yet for itself. */
const Group = ({ uploads: [first, ...others] }) =>
  others.length === 0
    ? html`<${Upload} key=${first.number} upload=${first} />`
    : html`<li class="group">
        <p class="note">
          ${countOf(others.length + 1, 'package')} have the id ${first.check.ko}, and the shelf has one of an id: what
          is imported later replaces what was imported before.
        </p>
        <ul class="items">
          ${[first, ...others].map((each) => html`<${Upload} key=${each.number} upload=${each} />`)}
        </ul>
      </li>`;

export const Packages = () => {
  const uploads = useUploads();
  const [isOver, setOver] = useState(false);
  const [left, setLeft] = useState(0);
  const take = (files) => setLeft(addFiles(files));
  const onDrop = (event) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  const onDragOver = (event) => {
    event.preventDefault();
    setOver(true);
  };
  const groups = Map.groupBy(uploads, ({ number, check: checked }) => checked?.ko ?? number);
  return html`
    <div class="drop" data-over=${isOver} onDragOver=${onDragOver} onDragLeave=${() => setOver(false)} onDrop=${onDrop}>
      <label for="add-files">Drop packages here (zip or tar.gz), or choose them</label>
      <input
        id="add-files"
        type="file"
        multiple
        accept=".zip,.tar.gz,.tgz,application/zip,application/gzip"
        onChange=${({ currentTarget }) => {
          take(currentTarget.files);
          currentTarget.value = '';
        }}
      />
    </div>
    <p role="status">${left > 0 && countOf(left, 'file was', 'files were') + ' left out: remove some first.'}</p>
    <ul class="items" aria-label="Packages to add">
      ${[...groups].map(([key, of]) => html`<${Group} key=${key} uploads=${of} />`)}
    </ul>
  `;
};
