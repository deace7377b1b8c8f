/** Requests for pages, their files, and lists of endpoints. */
import { withHeaders } from '../sent.ts';
import { both, code, NAAN } from './steps.ts';
import type { Step } from './steps.ts';

export function listings(): Step[] {
  return [
    ...both('/'),
    ['get', '/', '/', withHeaders({ accept: 'text/html' })],
    ['get', '/', '/', withHeaders({ accept: 'text/html', 'if-none-match': '*' })],
    ['get', '/doc', '/doc?url=/openapi.yaml', withHeaders({ 'if-none-match': '*' })],
    ...both('/doc'),
    ['get', '/console/{file}', '/console/main.js', withHeaders({ 'if-none-match': '*' })],
    ...both('/doc', `/doc?url=/kos/${code.id}/service.yaml`),
    ...both('/console'),
    ...['main.js', 'try/try.js', 'front.css', 'icon.svg', 'lib/preact.mjs', 'none.js'].flatMap((file) =>
      both('/console/{file}', `/console/${file}`),
    ),
    ...both('/doc/session'),
    ...both('/doc/catalogue'),
    ['get', '/doc/catalogue', '/doc/catalogue', withHeaders({ 'if-none-match': '*' })],
    ['get', '/doc/catalogue', '/doc/catalogue?state=odd'],
    ...['files', 'about', 'forms'].flatMap((what): Step[] => {
      const [route, url] = [`/doc/${what}/{naan}/{name}/{version}`, `/doc/${what}/${code.id}`];
      return [
        ...both(route, url),
        ['get', route, url, withHeaders({ 'if-none-match': '*' })],
        ['get', route, `/doc/${what}/no/such/ko`],
      ];
    }),
    ...both('/openapi.json'),
    ...both('/openapi.yaml'),
    ...both('/endpoints'),
    ['get', '/endpoints', '/endpoints/'],
    ['get', '/endpoints', '/endpoints?limit=1&q=run'],
    ['get', '/endpoints', '/endpoints?limit=0'],
    ...both('/endpoints/{engine}', '/endpoints/JavaScript'),
    ['get', '/endpoints/{engine}', '/endpoints/cobol'],
    ['get', '/endpoints/{engine}', '/endpoints/javascript?after=nothing'],
    ...both('/endpoints/{naan}/{name}/{endpoint}', `/endpoints/${NAAN}/code/run`),
    ['get', '/endpoints/{naan}/{name}/{endpoint}', `/endpoints/${NAAN}/code/run?v=1.0`],
    ['get', '/endpoints/{naan}/{name}/{endpoint}', `/endpoints/${NAAN}/code/run?v=9`],
    ['get', '/endpoints/{naan}/{name}/{endpoint}', `/endpoints/${NAAN}/code/none`],
    ['get', '/endpoints/{naan}/{name}/{endpoint}', `/endpoints/${NAAN}/code/run?limit=x`],
    ...both('/endpoints/{naan}/{name}/{apiVersion}/{endpoint}', `/endpoints/${NAAN}/code/1.0/run`),
    ...both('/endpoints/{atId}/{endpoint}', `/endpoints/${encodeURIComponent(code.id)}/run`),
    ['get', '/endpoints/{atId}/{endpoint}', '/endpoints/none/run'],
    ['get', '/endpoints/{naan}/{name}/{apiVersion}/{endpoint}', `/endpoints/${NAAN}/code/9/run`],
  ];
}
