// All versions of a knowledge object, and what differs between two of them.
import { get } from '../shared/api.js';
import { pathOf } from '../shared/api.js';
import { html } from '../shared/html.js';
import { hrefOf, KINDS, koOf, nameOf, placed, versionOf, WORDS } from '../shared/knowledge-object-data.js';
import { Compared } from './differences.js';
import { Problem, Table } from '../shared/parts.js';
import { endpointsOfName } from '../shared/knowledge-object-data.js';
import { useResult } from '../shared/use-result.js';

const MOST = 200;

const StateOf = ({ endpoints }) => {
  if (endpoints.length === 0) return html`<span class="ko-state" data-kind="wait">nothing active</span>`;
  const worst = ['FAILED_TO_ACTIVATE', 'LOADED', 'ACTIVATED'].find((status) =>
    endpoints.some((each) => each.status === status),
  );
  return html`<span class="ko-state" data-kind=${KINDS[worst]}>${WORDS[worst]}</span>`;
};

const choose = (id) => (event) => {
  const other = event.currentTarget.value;
  location.hash = other === '' ? hrefOf(id, 'versions') : hrefOf(id, 'versions', other);
};

export const Versions = ({ id, ko, rest }) => {
  const name = nameOf(id);
  const read = async (signal) => {
    const list = await get('kos/ark:/' + pathOf(name) + '?limit=' + MOST, { signal });
    return { versions: await placed(list), endpoints: Map.groupBy(await endpointsOfName(name, signal), koOf) };
  };
  const { data, error } = useResult(name, read, ko?.digest);
  const others = data?.versions.filter((each) => each.id !== id) ?? [];
  return html`
    <h2>Versions</h2>
    <${Problem} error=${error} />
    ${
      data &&
      html`<${Table} caption=${'Versions of ' + name} heads=${['Version', 'Title', 'State']}>
        ${data.versions.map(
          (each) =>
            html`<tr key=${each.id}>
              <th scope="row">
                <a href=${hrefOf(each.id)}>${versionOf(each.id)}</a>${each.id === id && ' (this one)'}
              </th>
              <td>${each.title}</td>
              <td><${StateOf} endpoints=${data.endpoints.get(each.id) ?? []} /></td>
            </tr>`,
        )}
      <//>`
    }
    ${data && others.length === 0 && html`<p>There is no other version to compare it with.</p>`}
    ${
      others.length > 0 &&
      html`<label class="ko-choice">
        What changed since
        <select value=${rest} onChange=${choose(id)}>
          <option value="">choose a version</option>
          ${others.map((each) => html`<option value=${versionOf(each.id)}>${versionOf(each.id)}</option>`)}
        </select>
      </label>`
    }
    ${rest !== '' && html`<${Compared} key=${rest} from=${name + '/' + rest} to=${id} state=${ko?.digest} />`}
  `;
};
