// Calls an endpoint, and tells all that its answer says.
import { pathOf, send } from './api.js';

/**
 * @param {{endpoint: string, method: string, contentType?: string, body?: string, signal?: AbortSignal}} options
 * @throws where there is no answer of a call: a login is needed, or the service cannot be reached
 */
export async function call({ endpoint, method, contentType = 'application/json', body, signal }) {
  const begin = performance.now();
  const headers = { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': contentType }) };
  try {
    const response = await send(method.toUpperCase(), pathOf(endpoint), { headers, body, signal });
    const text = await response.text();
    const ms = performance.now() - begin;
    return { ...answerIn(text), ...factsOf(response), ms, isDone: true, body: text };
  } catch (error) {
    if (error.status === undefined || error.status === 401) throw error;
    const ms = performance.now() - begin;
    return { ...factsOf(error), detail: error.message, title: error.title, ms, isDone: false };
  }
}

function answerIn(text) {
  try {
    const { result, info } = JSON.parse(text);
    return { result, info };
  } catch {
    return { result: text };
  }
}

const factsOf = ({ status, headers }) => ({
  status,
  executionId: headers?.get('kgrid-execution-id') ?? '',
  digest: headers?.get('kgrid-package-digest') ?? '',
  requestId: headers?.get('x-request-id') ?? '',
});
