// Puts knowledge objects on the shelf: packages from this computer, and places that manifests name.
import { html } from '../shared/html.js';
import { Manifest } from './manifests.js';
import { Packages } from './packages.js';

export const AddKnowledgeObject = () => html`
  <h1>Add knowledge objects</h1>
  <p class="lead">
    A package is checked first, and its code is tried in a process of its own. Nothing is replaced before you import.
  </p>
  <${Packages} />
  <details>
    <summary>Import from addresses or a manifest</summary>
    <${Manifest} />
  </details>
`;
