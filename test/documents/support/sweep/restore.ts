import { json, raw, withHeaders } from '../sent.ts';
import type { Step } from './steps.ts';

/** Requests to put back what was deleted. `path`: that of the document; `large`: more than a body may have. */
export const restoreSteps = (path: string, url: string, large: string): Step[] => [
  ['post', path, url, {}],
  ['post', path, url, json({ digest: `sha256:${'0'.repeat(64)}` })],
  ['post', path, url, json({ digest: 'none' })],
  ['post', path, url, raw('{}', 'text/plain')],
  ['post', path, url, json(large)],
  ['post', path, url, withHeaders({ 'if-match': '"another"' })],
  ['post', path, url, {}],
  ['get', path, url],
  ['head', path, url],
];
