import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';
import { processContext } from './lib/context.ts';
import { runCommand } from './program.ts';

/** What runs knowledge objects, and what reads them. */
const SERVICE = /\/src\/(?:app|http\/|activation\/activator)|node_modules\/(?:fastify|pino)\//;
const READERS = /\/src\/(?:shelf\/import|knowledge-object\/descriptors)\/|node_modules\/(?:yaml|yauzl|jsonc-parser)\//;

const loaded: string[] = [];
registerHooks({
  load: (url, context, nextLoad) => {
    loaded.push(url);
    return nextLoad(url, context);
  },
});
const loadedOf = (pattern: RegExp): string[] => loaded.filter((url) => pattern.test(url));

async function help(name: string): Promise<void> {
  let text = '';
  const context = { ...processContext(), write: (written: string) => void (text += written) };
  assert.equal(await runCommand([name, '--help'], context), 0);
  assert.ok(text.startsWith(`Usage: kgrid ${name}`), text);
}

test('commands that ask an activator load nothing that reads knowledge objects', async () => {
  for (const name of ['list', 'status', 'delete', 'rollback', 'run', 'mcp']) await help(name);
  assert.deepEqual(loadedOf(READERS), []);
});

test('no command loads the service before it starts one', async () => {
  for (const name of ['create', 'check', 'test', 'page', 'pack', 'push', 'verify-answer', 'diff', 'pull'])
    await help(name);
  assert.ok(loadedOf(READERS).length > 0);
  assert.deepEqual(loadedOf(SERVICE), []);
});
