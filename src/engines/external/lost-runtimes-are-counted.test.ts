import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RuntimeEngine, type ExternalOptions } from './runtime-engine.ts';
import { Runtime } from './runtime.ts';

test('a runtime that is lost counts once until it is back, and as down meanwhile', async () => {
  await using engine = new RuntimeEngine('cobol', {} as ExternalOptions);
  const runtime = new Runtime(
    { engine: 'cobol', url: 'http://127.0.0.1:1' },
    'http://127.0.0.1:2',
    new AbortController().signal,
  );
  engine.add(runtime);
  const shown = (): unknown => {
    const { runtimes, restarts, waiting } = engine.figures();
    return [runtimes, restarts, waiting];
  };
  const lost = (count: number): unknown => [
    ['runtime', 'lost', count],
    ['runtime', 'forgotten', 0],
  ];
  assert.deepEqual(shown(), [{ up: 1, down: 0 }, lost(0), 0]);
  runtime.lose();
  runtime.lose();
  assert.deepEqual(shown(), [{ up: 0, down: 1 }, lost(1), 0]);
  runtime.expect();
  runtime.lose();
  assert.deepEqual(shown(), [{ up: 0, down: 1 }, lost(2), 0]);
});
