import { html } from './html.js';

export const AddKnowledgeObject = ({ path }) =>
  html`<h1>Add</h1>
    <p>${path}</p>`;
