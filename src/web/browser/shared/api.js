// Asks the service, with the login of this tab.
import { base, leadsElsewhere, loginHeaders } from '../session.js';

export { base } from '../session.js';

export class ApiError extends Error {
  /** @param {{status: number, title: string, detail: string, requestId: string, headers: Headers, body: any}} facts `body`: the JSON that came */
  constructor({ status, title, detail, requestId, headers, body }) {
    super(detail || title);
    Object.assign(this, { status, title, requestId, headers, body });
  }
}

const errorOf = async (response) => {
  const requestId = response.headers.get('x-request-id') ?? '';
  const body = await response.json().catch(() => ({}));
  const title = body.Title ?? String(response.status);
  const detail = body.Detail ?? body.Error ?? body.detail ?? 'The service answers ' + response.status;
  return new ApiError({ status: response.status, title, detail, requestId, headers: response.headers, body });
};

/**
 * `path` is relative to the service. A redirect is an answer and is not followed.
 * @param {string} method
 * @param {string} path
 * @param {{headers?: Record<string, string>, body?: BodyInit, signal?: AbortSignal}} options
 * @returns {Promise<Response>}
 * @throws ApiError; TypeError where the service cannot be reached.
 */
export async function send(method, path, { headers = {}, body, signal } = {}) {
  // An id in an address of the page may be anything: the login goes to no other place by it.
  if (leadsElsewhere('/' + path)) throw new Error('/' + path + ' leads elsewhere');
  const response = await fetch(base + path, {
    method,
    headers: { accept: 'application/json', ...loginHeaders(), ...headers },
    body,
    signal,
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'manual',
  });
  if (response.ok || response.type === 'opaqueredirect') return response;
  if (response.status === 401) dispatchEvent(new Event('kgrid-login-needed'));
  throw await errorOf(response);
}

/** JSON of the service. */
export const get = async (path, options) => (await send('GET', path, options)).json();

/** Path of a KO or of a file in it, each part escaped. */
export const pathOf = (id) => id.split('/').map(encodeURIComponent).join('/');

/** Reads a KO from the shelf and activates it. */
export const activate = (id) => send('POST', 'actuator/activation/reload/' + pathOf(id));
