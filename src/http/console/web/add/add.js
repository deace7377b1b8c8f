// Puts knowledge objects on the shelf: packages from this computer, and places that manifests name.
import { html } from '../shared/html.js';
import { Manifest } from './manifests.js';
import { Packages } from './packages.js';

export const AddKnowledgeObject = () => html`
  <h1>Add</h1>
  <${Packages} />
  <${Manifest} />
`;
