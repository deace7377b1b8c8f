/** Requests of FHIR clients. */
import { json, raw } from '../sent.ts';
import { both, code } from './steps.ts';
import type { Step } from './steps.ts';

const LIBRARY = '/fhir/Library/{id}';
const EVALUATE = '/fhir/Library/{id}/$evaluate';

export function fhir(): Step[] {
  const own = `/fhir/Library/${code.naan}-${code.name}-${code.version}`;
  return [
    ...both('/fhir/metadata'),
    ...both('/fhir/Library', '/fhir/Library?_count=2'),
    ['get', '/fhir/Library', '/fhir/Library?colour=red'],
    ...both(LIBRARY, own),
    ['get', LIBRARY, '/fhir/Library/none'],
    [
      'post',
      EVALUATE,
      `${own}/$evaluate`,
      json({ resourceType: 'Parameters', parameter: [{ name: 'a', valueInteger: 1 }] }),
    ],
    ['post', EVALUATE, `${own}/$evaluate`, json({})],
    ['post', EVALUATE, `${own}/$evaluate`, raw('x', 'text/plain')],
  ];
}
