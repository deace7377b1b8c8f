import { html } from './html.js';

export const Overview = () => html`<h1>Overview</h1>`;
