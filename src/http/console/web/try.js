import { html } from './html.js';

export const Try = ({ path }) =>
  html`<h1>Try</h1>
    <p>${path}</p>`;
