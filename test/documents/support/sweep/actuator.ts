/** Requests to what the service says of itself: health, metrics, consoles, levels of the log, what is kept of the past. */
import { jsonBody, upload } from '../../../acceptance/support/client.ts';
import { withHeaders } from '../sent.ts';
import { both, MAX_BODY_BYTES, MAX_PACKAGE_BYTES } from './steps.ts';
import type { Step } from './steps.ts';

const CONSOLE = '/actuator/logs/{naan}/{name}/{version}';
const LOGGER = '/actuator/loggers/{logger}';

const READS = [
  '/actuator/health',
  '/actuator/health/liveness',
  '/actuator/health/readiness',
  '/actuator/info',
  '/actuator/prometheus',
  '/actuator/audit',
  '/actuator/fleet',
  '/actuator/problems',
  '/actuator/removed',
];

/** `id`: of a knowledge object that is there. */
export const actuator = (id: string): Step[] => [
  ...READS.flatMap((path) => both(path)),
  ['get', '/actuator/prometheus', '/actuator/prometheus', withHeaders({ accept: 'application/openmetrics-text' })],
  ...['application/yaml', 'text/yaml', 'application/x-yaml', 'text/vnd.yaml'].map((accept): Step => [
    'get',
    '/actuator/info',
    '/actuator/info',
    withHeaders({ accept }),
  ]),
  ['post', '/actuator/fleet/confirm', '/actuator/fleet/confirm', jsonBody({})],
  ['get', CONSOLE, `/actuator/logs/${id}`],
  ['head', CONSOLE, `/actuator/logs/${id}`],
  ['get', CONSOLE, `/actuator/logs/${id}?limit=0`],
  ['get', CONSOLE, '/actuator/logs/no/such/ko'],
  ['get', '/actuator/audit', '/actuator/audit?limit=0'],
  ['get', '/actuator/removed', '/actuator/removed?limit=0'],
  ['get', '/actuator/problems', '/actuator/problems?limit=0'],
  ...['/actuator/history', '/actuator/failures'].flatMap((path): Step[] => [
    ['get', path, path],
    ['head', path, path],
    ['get', path, `${path}?ko=none`],
  ]),
  ['get', '/actuator/history', `/actuator/history?ko=${id}&limit=1`],
  ...[
    upload(Buffer.from('no zip')),
    upload(Buffer.from('x'), 'other'),
    upload(Buffer.alloc(MAX_PACKAGE_BYTES + 1)),
    jsonBody({}),
  ].map((sent): Step => ['post', '/actuator/check', '/actuator/check', sent]),
  ['get', '/actuator/settings', '/actuator/settings'],
  ['head', '/actuator/settings', '/actuator/settings'],
  // What it answers when it is well has no end.
  ['get', '/actuator/events', '/actuator/events?after=none'],
  ['get', '/actuator/loggers', '/actuator/loggers'],
  ['head', '/actuator/loggers', '/actuator/loggers'],
  ['get', LOGGER, '/actuator/loggers/ROOT'],
  ['head', LOGGER, '/actuator/loggers/ROOT'],
  ['get', LOGGER, '/actuator/loggers/none'],
  ['post', LOGGER, '/actuator/loggers/ROOT', jsonBody({ configuredLevel: 'INFO' })],
  ['post', LOGGER, '/actuator/loggers/ROOT', jsonBody({ configuredLevel: 'LOUD' })],
  ['post', LOGGER, '/actuator/loggers/none', jsonBody({ configuredLevel: 'INFO' })],
  ['post', LOGGER, '/actuator/loggers/ROOT', jsonBody('x'.repeat(MAX_BODY_BYTES))],
  ['post', LOGGER, '/actuator/loggers/ROOT', { body: '{}', headers: { 'content-type': 'text/plain' } }],
];
