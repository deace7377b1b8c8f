import { html } from './html.js';

export const Activity = () => html`<h1>Activity</h1>`;
