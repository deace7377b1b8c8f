/** What requests of the sweep send. */
import { jsonBody } from '../../acceptance/support/client.ts';
import type { Sent } from '../../acceptance/support/client.ts';

export const json = (value: unknown, headers: Sent['headers'] = {}): Sent => ({
  ...jsonBody(value),
  headers: { 'content-type': 'application/json', ...headers },
});
export const raw = (body: string, type = 'application/json'): Sent => ({ body, headers: { 'content-type': type } });
export const withHeaders = (headers: Sent['headers']): Sent => ({ headers: headers ?? {} });
