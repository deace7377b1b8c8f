import { html } from './html.js';

export const KnowledgeObjects = ({ path }) =>
  html`<h1>Knowledge objects</h1>
    <p>${path}</p>`;
