import { html } from './html.js';

export const KnowledgeObject = ({ path }) =>
  html`<h1>Knowledge object</h1>
    <p>${path}</p>`;
