// Packages that are dropped or chosen, with what a check finds before anything is replaced.
import { html, useState } from '../shared/html.js';
import { hrefOf } from '../shared/knowledge-object-data.js';
import { sizeOf } from '../shared/package-file-text.js';
import { Checked } from './findings.js';
import { activate, addFiles, check, importUpload, remove, useUploads } from './uploads.js';
import { countOf, Problem } from '../shared/parts.js';

const SAID = {
  waits: 'Waits for its turn.',
  checking: 'Is being checked…',
  checked: 'Is checked. Nothing is on the shelf yet.',
  importing: 'Is being imported…',
  activating: 'Is being activated…',
};

const said = ({ step, ko, replaced }) => {
  if (step === 'imported')
    return html`<a href=${hrefOf(ko)}>${ko}</a> is on the shelf${replaced && ', in place of what was there'}. It runs
      after Activate.`;
  if (step === 'active') return html`<a href=${hrefOf(ko)}>${ko}</a> was activated.`;
  return SAID[step];
};

const Upload = ({ upload }) => {
  const { number, file, step, check: checked, error } = upload;
  const isBusy = ['checking', 'importing', 'activating'].includes(step);
  const isReplacing = checked?.present !== null && checked?.present !== undefined;
  const named = (words) => words + ' ' + file.name;
  return html`<li>
    <h3>${file.name} <span class="quiet">${sizeOf(file.size)}</span></h3>
    <p role="status">${said(upload)}</p>
    <${Problem} error=${error} />
    ${checked && ['checked', 'importing'].includes(step) && html`<${Checked} checked=${checked} />`}
    <div class="ko-actions">
      ${
        step === 'checked' &&
        checked.ko !== null &&
        html`<button aria-label=${named('Import')} onClick=${() => importUpload(number)}>
          ${isReplacing ? 'Import and replace' : 'Import'}
        </button>`
      }
      ${step === 'imported' && html`<button aria-label=${named('Activate')} onClick=${() => activate(number)}>Activate</button>`}
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
      <button class="plain" disabled=${isBusy} aria-label=${named('Take away')} onClick=${() => remove(number)}>
        Take away
      </button>
    </div>
  </li>`;
};

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
  return html`<section aria-labelledby="add-packages">
    <h2 id="add-packages">Packages</h2>
    <div
      class="ko-drop"
      data-over=${isOver}
      onDragOver=${onDragOver}
      onDragLeave=${() => setOver(false)}
      onDrop=${onDrop}
    >
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
    <p role="status">${left > 0 && countOf(left, 'file was', 'files were') + ' left out: take some away first.'}</p>
    <ul class="ko-items" aria-label="Packages to add">
      ${uploads.map((each) => html`<${Upload} key=${each.number} upload=${each} />`)}
    </ul>
  </section>`;
};
