import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatFor } from './actuator-routes.ts';

test('each version of Prometheus gets the form that it likes best', () => {
  const asked: [string | undefined, 'text' | 'openmetrics'][] = [
    [undefined, 'text'],
    ['*/*', 'text'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'text'],
    ['application/json', 'text'],
    // 2.42
    [
      'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
      'openmetrics',
    ],
    // 3.0
    [
      'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2',
      'openmetrics',
    ],
    // With scrape_protocols that prefer the text.
    ['text/plain;version=0.0.4;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.4', 'text'],
    // The binary form alone.
    ['application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited', 'text'],
    [';;;,,q=,', 'text'],
  ];
  for (const [accept, format] of asked) assert.equal(formatFor(accept), format, accept);
});
