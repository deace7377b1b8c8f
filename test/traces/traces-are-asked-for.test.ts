/** Traces cost nothing where nobody asks for them, and little where nobody takes them. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { traceSettings } from '../../src/tracing/open-tracer.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import { inRound } from '../support/round.ts';

const NOTE = join(import.meta.dirname, 'support/note-modules.ts');

test('nothing of traces is loaded where no collector is named, and one that is away costs a warning, once', async () => {
  await using folder = await temporaryFolder();
  const loaded = async (env: Readonly<Record<string, string>>): Promise<string> => {
    const file = join(folder.path, 'loaded');
    await writeFile(file, '');
    const ko = welcomeKo({ naan: uniqueNaan() });
    await using service = await startService({
      env: { ...env, NOTE_MODULES: file, NODE_OPTIONS: `--import=${NOTE}`, OTEL_BSP_SCHEDULE_DELAY: '10' },
    });
    await service.serve(ko);
    for (let i = 0; i < 20; i++) assert.equal((await service.post(pathOf(ko, 'welcome'), { name: 'Ada' })).status, 200);
    if (env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] !== undefined) {
      const warned = await service.logged(({ part }) => part === 'traces');
      assert.match(String(warned['msg']), /^Traces are not taken at http:\/\/127\.0\.0\.1:1: they are dropped until/);
    }
    await service.stop();
    assert.ok(service.log.filter(({ part }) => part === 'traces').length <= 1);
    return readFile(file, 'utf8');
  };
  if (inRound(false, true)) assert.equal(await loaded({}), '');
  assert.equal(await loaded({ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }), '');
  const away = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1/x', OTEL_EXPORTER_OTLP_TIMEOUT: '100' };
  assert.match(await loaded(away), /@opentelemetry/);
});

test('the standard variables say where traces go, which are kept, and what they are called', () => {
  const of = (env: Readonly<Record<string, string>>) =>
    traceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', ...env });
  assert.equal(traceSettings({}), undefined);
  assert.equal(traceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }), undefined);
  assert.equal(of({ OTEL_TRACES_EXPORTER: 'none' }), undefined);
  assert.equal(of({ OTEL_SDK_DISABLED: 'true' }), undefined);
  assert.equal(of({})?.url, 'http://c:4318/v1/traces');
  assert.equal(of({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://t/own' })?.url, 'https://t/own');
  assert.deepEqual(of({ OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=x%3Dy,%=' })?.headers, { a: '1', b: 'x=y', '%': '' });
  assert.equal(of({})?.sampler, 'parentbased_always_on');
  assert.equal(of({ OTEL_TRACES_SAMPLER: 'traceidratio' })?.sampler, 'traceidratio');
  assert.equal(
    of({ OTEL_SERVICE_NAME: 'mine', OTEL_RESOURCE_ATTRIBUTES: 'service.name=x,k=v' })?.resource['service.name'],
    'mine',
  );
  for (const [name, value] of [
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '-1'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', 'soon'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
  ] as const) {
    const warnings = of({ [name]: value })?.warnings ?? [];
    assert.equal(warnings.length, 1, name);
    assert.match(warnings[0] ?? '', new RegExp(name));
  }
});
