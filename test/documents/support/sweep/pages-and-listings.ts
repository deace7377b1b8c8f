/** Requests for pages, their files, and lists of endpoints. */
import { withHeaders } from '../sent.ts';
import { both, code, NAAN } from './steps.ts';
import type { Step } from './steps.ts';

export function listings(): Step[] {
  const scripts = 'overview card objects about files login read element doc descriptor answers'.split(' ');
  const others = ['pages.css', 'icon.svg', 'swagger-ui.css', 'swagger-ui-bundle.js'];
  const pages = [...scripts.map((name) => `${name}.js`), ...others];
  return [
    ...both('/'),
    ['get', '/', '/', withHeaders({ accept: 'text/html' })],
    ['get', '/', '/', withHeaders({ accept: 'text/html', 'if-none-match': '*' })],
    ['get', '/doc', '/doc', withHeaders({ 'if-none-match': '*' })],
    ['get', '/console', '/console', withHeaders({ 'if-none-match': '*' })],
    ['get', '/console/{file}', '/console/main.js', withHeaders({ 'if-none-match': '*' })],
    ['get', '/doc/{file}', '/doc/doc.js', withHeaders({ 'if-none-match': '*' })],
    ...both('/doc', `/doc?url=/kos/${code.id}/service.yaml`),
    ...both('/console'),
    ...['main.js', 'try/try.js', 'lib/preact.mjs', 'none.js'].flatMap((file) =>
      both('/console/{file}', `/console/${file}`),
    ),
    ...pages.flatMap((page) => both('/doc/{file}', `/doc/${page}`)),
    ...both('/doc/overview.json'),
    ['get', '/doc/overview.json', '/doc/overview.json', withHeaders({ 'if-none-match': '*' })],
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
