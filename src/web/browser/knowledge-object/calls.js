// Calls of one knowledge object in the last hour, and those that failed.
import { CalledEndpoints } from '../health/endpoints.js';
import { Failures } from '../shared/failures.js';
import { HistoryCharts, useHistory } from '../shared/history.js';
import { html } from '../shared/html.js';

export const Calls = ({ id }) => {
  const history = useHistory(id);
  return html`
    <h2>Calls of the last hour</h2>
    <${HistoryCharts} history=${history} />
    ${history.data && html`<${CalledEndpoints} kos=${history.data.kos} isOfOne />`}
    <h2>Failed calls</h2>
    <${Failures} ko=${id} />
  `;
};
