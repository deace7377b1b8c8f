/** Requests of runtimes: registrations, and what they fetch. */
import { packageDigestOf } from '../package-digest-of.ts';
import { json, raw } from '../sent.ts';
import { files, reads } from './steps.ts';
import type { Step } from './steps.ts';

const PACKAGES = '/proxy/packages/{digest}/{naan}/{name}/{version}/{path}';
const ARTIFACTS = '/proxy/artifacts/{naan}/{name}/{version}/{path}';

export function runtimes(): Step[] {
  const path = '/proxy/environments';
  const engine = `${path}/{engine}`;
  const ofPackage = `/proxy/packages/${packageDigestOf(files)}/${files.id}`;
  const registration = json({ engine: 'cobol', url: 'http://127.0.0.1:9', version: '1' });
  return [
    ...Array<Step>(2).fill(['post', path, path, registration]),
    ['post', path, path, json({ engine: 'cobol' })],
    ['post', path, path, json([])],
    ['post', path, path, raw('x', 'text/plain')],
    ['get', path, path],
    ['head', path, path],
    ['get', engine, `${path}/cobol`],
    ['get', engine, `${path}/none`],
    ['head', engine, `${path}/cobol`],
    ...[[ARTIFACTS, `/proxy/artifacts/${files.id}`] as const, [PACKAGES, ofPackage] as const].flatMap(
      ([each, url]): Step[] => [
        ...reads('get', each, `${url}/a/table.csv`),
        ...(['get', 'head'] as const).map((method): Step => [
          method,
          each,
          `${url}/${method === 'get' ? 'none' : 'a/table.csv'}`,
        ]),
      ],
    ),
  ];
}
