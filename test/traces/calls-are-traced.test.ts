/** What a collector gets of requests, calls, what they call in turn, and changes of the shelf. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { RecordedNodeRuntime } from '../runtimes/support/recorded-node-runtime.ts';
import { runtimeKo } from '../runtimes/support/runtime-ko.ts';
import { startCollector } from './support/collector.ts';
import type { ReadSpan } from './support/read-export.ts';

const collector = await startCollector();
after(() => collector[Symbol.asyncDispose]());
const service = await startService({
  args: ['--runtimes', 'node,python', '--log-executions'],
  env: {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=one%20two',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  },
});
after(() => service[Symbol.asyncDispose]());
const runtime = await RecordedNodeRuntime.start(service, 'wire');
after(() => runtime[Symbol.asyncDispose]());

const naan = uniqueNaan();
let traces = 0;
/** A trace of its own, as a client begins it. */
const begun = () => {
  const traceId = (++traces).toString(16).padStart(32, '0');
  return { traceId, headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, tracestate: 'rojo=1,congo=t61' } };
};
const named = (spans: readonly ReadSpan[], name: string): ReadSpan => {
  const found = spans.find((span) => span.name === name);
  assert.ok(found, `${name} is not among ${spans.map((span) => span.name).join(', ')}`);
  return found;
};
/** All of a trace: the span of its request ends last. */
async function ofTrace(traceId: string): Promise<ReadSpan[]> {
  await collector.until((span) => span.traceId === traceId && span.kind === 'SERVER');
  return collector.spans.filter((span) => span.traceId === traceId);
}

test('a call has spans for its request, itself, its wait and its run, in the trace of its client', async () => {
  const ko = welcomeKo({ naan });
  await service.serve(ko);
  const { traceId, headers } = begun();
  const answer = await service.post(pathOf(ko, 'welcome'), { name: 'Ada Secret' }, headers);
  assert.equal(answer.status, 200, answer.text);
  const spans = await ofTrace(traceId);
  const request = named(spans, 'POST /:naan/:name/*');
  const call = named(spans, `execute ${naan}/ko/1.0/welcome`);
  assert.equal(request.parentSpanId, '00f067aa0ba902b7');
  assert.equal(request.traceState, 'rojo=1,congo=t61');
  assert.equal(request.kind, 'SERVER');
  assert.equal(request.attributes['http.response.status_code'], 200);
  assert.equal(request.attributes['http.route'], '/:naan/:name/*');
  assert.equal(call.parentSpanId, request.spanId);
  assert.equal(call.attributes['kgrid.ko'], ko.id);
  assert.equal(call.attributes['kgrid.engine'], 'javascript');
  assert.equal(call.attributes['kgrid.execution.id'], answer.headers['kgrid-execution-id']);
  assert.equal(call.attributes['kgrid.package.digest'], answer.headers['kgrid-package-digest']);
  for (const name of ['queue', 'run']) {
    const part = named(spans, name);
    assert.equal(part.parentSpanId, call.spanId);
    assert.ok(part.start >= call.start && part.end <= call.end, name);
  }
  assert.deepEqual(
    spans.map(({ status, scope }) => [status, scope]),
    spans.map(() => [0, 'kgrid-activator']),
  );
  assert.equal(request.resource['service.name'], 'kgrid-activator');
  assert.equal(request.resource['deployment.environment.name'], 'test');
  assert.equal(collector.headers[0]?.['x-tenant'], 'one two');
  assert.equal(collector.headers[0]?.[':path'], '/v1/traces');
  assert.ok(!JSON.stringify(spans, (_, value: unknown) => (typeof value === 'bigint' ? '' : value)).includes('Secret'));
});

test('a call of one by another is in the same trace, through javascript, node, python and a runtime of others', async () => {
  const id = (name: string): string => `${naan}/${name}/1.0/run`;
  const last = runtimeKo({ naan, name: 'last', engine: 'wire', code: { 'src/index.js': '1' } });
  const python = runtimeKo({
    ...{ naan, name: 'py', engine: 'python' },
    code: {
      'src/main.py': `from kgrid_python_runtime.context import Context\ndef run(x):\n    return Context().get_executor_by_id("${id('last')}").execute(x)\n`,
    },
  });
  const node = runtimeKo({
    ...{ naan, name: 'node', engine: 'node' },
    code: {
      'src/index.js': `exports.run = async (input) => global.cxt.getExecutorByID("${id('py')}").execute(input);`,
    },
  });
  const javascript = javascriptKo(
    `function run(input) { return context.getExecutor("${id('node')}").execute(input); }`,
    { naan, name: 'js' },
  );
  await service.serve(last, python, node, javascript);
  const { traceId, headers } = begun();
  const answer = await service.post(pathOf(javascript), { a: 1 }, headers);
  assert.equal(answer.status, 200, answer.text);
  const spans = await ofTrace(traceId);
  const chain = ['js', 'node', 'py', 'last'].map((name) => named(spans, `execute ${id(name)}`));
  for (const [i, span] of chain.entries()) if (i > 0) assert.equal(span.parentSpanId, chain[i - 1]?.spanId, span.name);
  assert.equal(spans.filter(({ name }) => name === 'run').length, 3, 'of javascript, node and python');
  const client = named(spans, 'POST');
  assert.equal(client.kind, 'CLIENT');
  assert.equal(client.parentSpanId, chain[3]?.spanId);
  const asked = runtime.calls.at(-1);
  assert.equal(asked?.headers['traceparent'], `00-${traceId}-${client.spanId}-01`);
  assert.equal(asked?.headers['tracestate'], 'rojo=1,congo=t61');
});

test('what fails says how, and never what it was about', async () => {
  const ko = javascriptKo('function run(input) { throw new Error("no " + input.name); }', { naan, name: 'fails' });
  await service.serve(ko);
  const { traceId, headers } = begun();
  assert.equal((await service.post(pathOf(ko), { name: 'Ada Secret' }, headers)).status, 500);
  const spans = await ofTrace(traceId);
  const call = named(spans, `execute ${naan}/fails/1.0/run`);
  const lines = service.log.filter(({ traceparent }) => traceparent === `00-${traceId}-${call.spanId}-01`);
  assert.deepEqual(
    lines.map(({ event, span }) => [event, span]),
    [
      ['call-failed', undefined],
      ['execution', undefined],
    ],
  );
  assert.deepEqual([call.status, call.attributes['error.type']], [2, 'code-error']);
  assert.equal(named(spans, 'POST /:naan/:name/*').status, 2);
  assert.ok(!JSON.stringify(spans.map(({ attributes }) => attributes)).includes('Secret'));
});

test('a request of a client that does not want to be traced is not', async () => {
  const traceId = 'f'.repeat(32);
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-00` };
  await service.send('GET', '/kos', { headers });
  const after = begun();
  await service.send('GET', '/kos', { headers: after.headers });
  await ofTrace(after.traceId);
  assert.deepEqual(
    collector.spans.filter((span) => span.traceId === traceId),
    [],
  );
});
