/** What all requests of the sweep are made of. */
import type { Sent } from '../../../acceptance/support/client.ts';
import { javascriptKo, resourceKo } from '../../../acceptance/support/ko.ts';
import type { Ko } from '../../../acceptance/support/ko.ts';
import type { Method } from '../interface.ts';
import { withHeaders } from '../sent.ts';

/** A request: the method, the path of the document, the path that is asked for, what is sent. */
export type Step = readonly [method: Method, path: string, url: string, sent?: Sent];

export const NAAN = 'sweep';
/** A body larger than this is refused by the service that is swept. */
export const MAX_BODY_BYTES = 20_000;
export const MAX_PACKAGE_BYTES = 40_000;

const CODE = `function run(input) {
  if (input === 'fail') throw new Error('as it was asked to');
  if (input.refuse) throw Object.assign(new Error('refused'), { name: 'InvalidInputError', status: input.refuse });
  const end = Date.now() + (input.wait ?? 0);
  while (Date.now() < end);
  return input;
}`;
const RUN: Ko = javascriptKo(CODE, {
  naan: NAAN,
  name: 'code',
  consumes: ['application/json', 'text/plain'],
  produces: ['application/json', 'text/plain'],
});
const HOOK = `{ hook: patient-view, endpoint: /run, code: src/cds.js, input: input, cards: cards, prefetch: { input: 'Basic/1' } }`;
const CARDS = `
const input = ({ prefetch }) => prefetch.input;
const cards = ({ result }) => [{ summary: String(result.result.toFixed(0)), indicator: 'info' }];`;
export const code: Ko = { ...RUN, files: { ...RUN.files, 'cds-hooks.yaml': HOOK, 'src/cds.js': CARDS } };
export const files: Ko = resourceKo({ naan: NAAN, name: 'files', resources: { 'a/table.csv': 'x,y\n1,2\n' } });

export const KO = '/kos/{naan}/{name}/{version}';

/** A file, a part of it, a part that is not there, and what a client has already. */
export function reads(method: Method, path: string, url: string, etag = '*'): Step[] {
  return [
    [method, path, url],
    [method, path, url, withHeaders({ range: 'bytes=0-1' })],
    [method, path, url, withHeaders({ range: 'bytes=90000-' })],
    [method, path, url, withHeaders({ 'if-none-match': etag })],
  ];
}

export const both = (path: string, url = path): Step[] => [
  ['get', path, url],
  ['head', path, url],
];
