// Texts of others, line by line, with their numbers: what steers a terminal or the direction of writing is made visible.
import { html } from './html.js';
import { countOf } from './parts.js';

const MOST_LINES = 5000;
const MOST_CHARACTERS = 2000;
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export const visible = (text) =>
  text.replace(STEERING, (sign) => '\\u' + sign.charCodeAt(0).toString(16).padStart(4, '0'));

export const cutLine = (line) => visible(line.length > MOST_CHARACTERS ? line.slice(0, MOST_CHARACTERS) + ' …' : line);

export const Numbered = ({ text, label }) => {
  const lines = text.split(/\r?\n/, MOST_LINES + 1);
  if (lines.at(-1) === '') lines.pop();
  const isCut = lines.length > MOST_LINES;
  return html`
    <div class="text" role="region" aria-label=${label} tabindex="0">
      <pre><code>${lines.slice(0, MOST_LINES).map((line, i) => html`<span class="line" data-line=${i + 1}>${cutLine(line)}${'\n'}</span>`)}</code></pre>
    </div>
    ${isCut && html`<p class="note">Only the first ${countOf(MOST_LINES, 'line')} are shown.</p>`}
  `;
};
