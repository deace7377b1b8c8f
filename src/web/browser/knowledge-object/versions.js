// All versions of a knowledge object, and what differs between two of them.
import { html } from '../shared/html.js';
import { Empty, hrefOf, nameOf, State, Table, versionOf } from '../shared/parts.js';
import { onShelf } from '../shared/packages.js';
import { Compared } from './differences.js';

export const Versions = ({ id, about, rest }) => {
  const others = about.versions.filter((each) => each.id !== id);
  return html`
    <${Table}
      caption=${'Versions of ' + nameOf(id)}
      heads=${['Version', 'State']}
      rows=${about.versions.toReversed().map((each) => ({
        key: each.id,
        cells: [
          html`<a href=${hrefOf(each.id)}>${versionOf(each.id)}</a>${each.id === id && ' (this one)'}`,
          html`<${State} of=${each.state} />`,
        ],
      }))}
    />
    ${others.length === 0 && html`<${Empty}>There is no other version to compare it with.<//>`}
    ${
      others.length > 0 &&
      html`<label class="choice">
        What changed since
        <select
          value=${rest}
          onChange=${({ target }) => (location.hash = hrefOf(id, 'versions', ...(target.value ? [target.value] : [])))}
        >
          <option value="">choose a version</option>
          ${others.map((each) => html`<option value=${versionOf(each.id)}>${versionOf(each.id)}</option>`)}
        </select>
      </label>`
    }
    ${rest !== '' && html`<${Compared} key=${rest} from=${onShelf(nameOf(id) + '/' + rest)} to=${onShelf(id)} />`}
  `;
};
