// Puts knowledge objects on the shelf: packages from this computer, and places that manifests name.
import { html } from './html.js';
import { Manifest } from './ko-add-manifest.js';
import { Packages } from './ko-add-packages.js';

export const AddKnowledgeObject = () => html`
  <h1>Add</h1>
  <${Packages} />
  <${Manifest} />
`;
