/** Requests that call endpoints, and those for the files of resource endpoints. */
import { json, raw, withHeaders } from '../sent.ts';
import { code, files, MAX_BODY_BYTES, NAAN, reads } from './steps.ts';
import type { Step } from './steps.ts';

const VERSIONED = '/{naan}/{name}/{apiVersion}/{endpoint}';
const NEWEST = '/{naan}/{name}/{endpoint}';
const BY_AT_ID = '/endpoints/{atId}/{endpoint}';
const MCP = '/mcp';
const ISSUERS = '/.well-known/oauth-protected-resource/mcp';
const ASSISTANT = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' };
const ARTIFACT = `${VERSIONED}/{artifact}`;

export function calls(): Step[] {
  return [
    ...(
      [
        [VERSIONED, `/${NAAN}/code/1.0/run`],
        [NEWEST, `/${NAAN}/code/run`],
        [BY_AT_ID, `/endpoints/${code.id}/run`],
      ] as const
    ).flatMap(([path, url]): Step[] => [
      ['post', path, url, json({ a: 1 })],
      ['post', path, url, json('x', { accept: 'application/json;profile="minimal"' })],
      ['post', path, url, json('x', { accept: 'text/plain' })],
      ['post', path, url, raw('text', 'text/plain; charset=utf-8')],
      ['post', path, url, raw('{')],
      ['post', path, url, raw('')],
      ['post', path, url, json('fail')],
      ['post', path, url, json({ refuse: 400 })],
      ['post', path, url, json({ refuse: 422 })],
      ['post', path, url, json('x', { accept: 'image/png' })],
      ['post', path, url, raw('x', 'text/csv')],
      ['post', path, url, { body: 'x' }],
      ['post', path, url, json('x'.repeat(MAX_BODY_BYTES))],
      ['get', path, url],
    ]),
    ...(
      [
        [VERSIONED, `/${NAAN}/files/1.0/files`],
        [NEWEST, `/${NAAN}/files/files`],
      ] as const
    ).flatMap(([path, url]): Step[] => [
      ['get', path, url],
      ['get', path, url, withHeaders({ accept: 'image/png' })],
      ['head', path, url],
      ['post', path, url, json({})],
    ]),
    ['post', NEWEST, `/${NAAN}/code/run?v=1.0`, json({})],
    ['post', NEWEST, `/${NAAN}/code/run?v=v1.0`, json({})],
    ['post', NEWEST, `/${NAAN}/code/run?v=9`, json({})],
    ['post', VERSIONED, `/${NAAN}/code/9/run`, json({})],
    ['post', VERSIONED, '/no/such/1.0/endpoint', json({})],
    ['post', BY_AT_ID, '/endpoints/no/such', json({})],
    ['post', BY_AT_ID, `/endpoints/${files.id}/files`, json({})],
    ['get', VERSIONED, '/no/such/1.0/endpoint'],
    ['get', NEWEST, '/no/such/endpoint'],
    ...reads('get', VERSIONED, `/${NAAN}/files/files/table.csv`),
    ...reads('get', ARTIFACT, `/${NAAN}/files/1.0/files/a/table.csv`),
    ['get', ARTIFACT, `/${NAAN}/files/1.0/files/none.csv`],
    ['post', MCP, MCP, json({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, ASSISTANT)],
    ['post', MCP, MCP, json({ jsonrpc: '2.0', method: 'notifications/initialized' }, ASSISTANT)],
    ['post', MCP, MCP, json({ jsonrpc: '2.0', id: 1, method: 'tools/call' })],
    ['post', MCP, MCP, raw('{')],
    ['post', MCP, MCP, raw('x', 'text/csv')],
    ['get', ISSUERS, ISSUERS],
    ['head', ISSUERS, ISSUERS],
    ['head', ARTIFACT, `/${NAAN}/files/1.0/files/a/table.csv`],
  ];
}
