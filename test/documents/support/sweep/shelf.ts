/** Requests to read and change the shelf. */
import { createHash } from 'node:crypto';
import { upload } from '../../../acceptance/support/client.ts';
import { zipOf } from '../../../acceptance/support/ko.ts';
import { packageDigestOf } from '../package-digest-of.ts';
import { json, raw, withHeaders } from '../sent.ts';
import { restoreSteps } from './restore.ts';
import { code, files, KO, MAX_BODY_BYTES, NAAN, reads } from './steps.ts';
import type { Step } from './steps.ts';

const FILE = `${KO}/{path}`;

export async function shelf(): Promise<Step[]> {
  const path = `/kos/${code.id}`;
  const zip = await zipOf(files.files);
  const zipWanted = withHeaders({ accept: 'application/zip' });
  const noise = Buffer.concat(Array.from({ length: 2000 }, (_, i) => createHash('sha256').update(String(i)).digest()));
  const large = await zipOf({ ...files.files, 'noise.bin': noise }, '', { compress: false });
  return [
    ['get', '/kos', '/kos'],
    ['get', '/kos', `/kos?limit=1&q=${NAAN}`],
    ['get', '/kos', '/kos?limit=1001'],
    ['head', '/kos', '/kos/'],
    ['get', '/kos', '/kos', withHeaders({ 'if-none-match': '*' })],
    ['post', '/kos', '/kos', upload(zip)],
    ['post', '/kos', '/kos', upload(Buffer.from('no zip'))],
    ['post', '/kos', '/kos', upload(zip, 'other')],
    ['post', '/kos', '/kos', upload(large)],
    ['post', '/kos', '/kos', raw('x', 'application/zip')],
    ['get', '/kos/{naan}', `/kos/${NAAN}`],
    ['get', '/kos/{naan}', `/kos/${NAAN}?limit=1`],
    ['get', '/kos/{naan}', `/kos/${NAAN}`, withHeaders({ 'if-none-match': '*' })],
    ['get', '/kos/{naan}', `/kos/${NAAN}?after=nothing`],
    ['get', '/kos/{naan}', '/kos/nobody'],
    ['head', '/kos/{naan}', `/kos/${NAAN}`],
    ['get', '/kos/{naan}/{name}', `/kos/${NAAN}/code`],
    ['get', '/kos/{naan}/{name}', `/kos/${NAAN}/code?v=v1.0`, zipWanted],
    ['get', '/kos/{naan}/{name}', `/kos/${NAAN}/code`, withHeaders({ 'if-none-match': '*' })],
    ['get', '/kos/{naan}/{name}', `/kos/${NAAN}/code?v=v9`],
    ['get', '/kos/{naan}/{name}', `/kos/${NAAN}/code?v=v9`, zipWanted],
    ['head', '/kos/{naan}/{name}', `/kos/${NAAN}/code`],
    ['get', KO, path],
    ['get', KO, `${path}?format=zip`],
    ['get', KO, path, withHeaders({ 'if-none-match': '*' })],
    ['get', KO, `/kos/${NAAN}/code/v9`],
    ['head', KO, path],
    ['put', KO, path, json({ ...code.metadata, title: 'Another title' })],
    ['put', KO, path, json([])],
    ['put', KO, path, raw('{')],
    ['put', KO, path, json(code.metadata, { 'if-match': '"another"' })],
    ['put', KO, path, raw('{}', 'text/plain')],
    ['put', KO, path, json('x'.repeat(MAX_BODY_BYTES))],
    ['put', KO, `/kos/${NAAN}/code/v9`, json({})],
    ...restoreSteps(`${KO}/restore`, `${path}/restore`, 'x'.repeat(MAX_BODY_BYTES)),
    ['get', '/kos/ark:/{naan}/{name}', `/kos/ark:/${NAAN}/code`],
    ['get', '/kos/ark:/{naan}/{name}', `/kos/ark:/${NAAN}/none`],
    ['get', '/kos/ark:/{naan}/{name}', `/kos/ark:/${NAAN}/code?limit=x`],
    ['head', '/kos/ark:/{naan}/{name}', `/kos/ark:${NAAN}/code`],
    ['get', '/kos/ark:/{naan}/{name}/{version}', `/kos/ark:/${code.id}`],
    ['get', '/kos/ark:/{naan}/{name}/{version}', `/kos/ark:/${NAAN}/code/v9`],
    ['head', '/kos/ark:/{naan}/{name}/{version}', `/kos/ark:/${code.id}`],
    ['get', '/kos/{naan}', `/kos/${encodeURIComponent(code.id)}`],
    ['get', '/kos/{naan}', `/kos/${encodeURIComponent(code.id)}`, zipWanted],
    ...reads('get', '/kos/{atId}/service', `/kos/${encodeURIComponent(code.id)}/service`),
    ['head', '/kos/{atId}/service', `${path}/service`],
    ['get', '/kos/{atId}/service', '/kos/none/service'],
    ['get', '/kos/{atId}/doc', `${path}/doc`],
    ['get', '/kos/{atId}/doc', '/kos/none/doc'],
    ['head', '/kos/{atId}/doc', `${path}/doc`],
    ...reads('get', FILE, `${path}/service.yaml`),
    ...reads('get', FILE, `${path}/metadata.json`),
    ['get', FILE, `${path}/none.txt`],
    ['head', FILE, `${path}/service.yaml`],
    ...['/kos/manifest', '/kos/manifest-list'].flatMap((manifest): Step[] => [
      ['post', manifest, manifest, json([])],
      ['post', manifest, manifest, raw('{')],
      ['post', manifest, manifest, raw('[]', 'text/plain')],
      ['post', manifest, manifest, json(['x'.repeat(MAX_BODY_BYTES)])],
    ]),
  ];
}

const REMOVED = '/actuator/removed/{naan}/{name}/{version}/{digest}';

/** What is kept of a package, its files and one of them. */
const kept = (): Step[] =>
  (
    [
      ['', ''],
      ['/{path}', '/service.yaml'],
    ] as const
  ).flatMap(([path, file]): Step[] => {
    const at = (digest: string, last = file): string => `/actuator/removed/${code.id}/${digest}${last}`;
    const [route, url] = [REMOVED + path, at(`sha256:${packageDigestOf(code)}`)];
    return [
      ['get', route, url],
      ['head', route, url],
      ['get', route, url, withHeaders({ 'if-none-match': '*' })],
      ['get', route, at('odd')],
      ['get', route, at('0'.repeat(64))],
      ...(path === '' ? [] : [['get', route, url, withHeaders({ range: 'bytes=0-1' })] as const]),
    ];
  });

/** What changes the shelf last. */
export const removal: Step[] = [
  ['delete', KO, `/kos/${code.id}`, withHeaders({ 'if-match': '"another"' })],
  ...Array<Step>(2).fill(['delete', KO, `/kos/${code.id}`]),
  ['post', `${KO}/restore`, `/kos/${code.id}/restore`, {}],
  ['delete', KO, `/kos/${code.id}`],
  ...kept(),
];
