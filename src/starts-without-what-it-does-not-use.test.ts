import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

/** Packages that only runtimes, manifests, tokens, files, a database elsewhere or the description of the interface need. */
const UNUSED =
  /node_modules\/(undici|jose|ajv|mime-db|pg[^/]*|zod|@modelcontextprotocol|@fastify\/(ajv|fast-json)[^/]*)\//;
/** Node's own client, which an `import` of `node:http` would bring. */
const CLIENT_OF_NODE = 'NativeModule internal/deps/undici/undici';

test('a start without runtimes, manifests and tokens loads no library for them', async () => {
  const loaded: string[] = [];
  registerHooks({
    load: (url, context, nextLoad) => {
      loaded.push(url);
      return nextLoad(url, context);
    },
  });
  const { LocalActivator } = await import('./check/local-activator.ts');
  const fill = (): Promise<void> => Promise.resolve();
  const env = { HOME: await mkdtemp(join(tmpdir(), 'kgrid-start-')) };
  const activator = await LocalActivator.start({ env, runtimes: [], port: 0, onConsole: () => undefined, fill });
  await activator[Symbol.asyncDispose]();
  await rm(env.HOME, { recursive: true });

  assert.ok(loaded.some((url) => url.endsWith('/fastify/fastify.js')) && loaded.length > 100);
  assert.deepEqual(
    loaded.filter((url) => UNUSED.test(url)),
    [],
  );
  const { moduleLoadList } = process as unknown as { moduleLoadList: readonly string[] };
  assert.ok(moduleLoadList.includes('NativeModule http') && !moduleLoadList.includes(CLIENT_OF_NODE));
});
