/**
 * What every engine must do, as tests. An engine's own test calls `engineConformance` with artifacts that behave in
 * known ways; see `src/engines/javascript/keeps-the-engine-contract.test.ts`.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MAX_DEPTH } from '../../src/engines/call-headers.ts';
import { ActivationFailure, type Engine } from '../../src/engines/engine.ts';
import { ENGINES } from '../../src/engines/table.ts';
import { EXECUTION_ERRORS, ServiceError } from '../../src/lib/errors.ts';
import { uptime } from '../../src/lib/time.ts';
import { type Artifacts, EngineHost } from './engine-host.ts';

/** An engine that runs, with limits small enough to be met. */
export interface EngineUnderTest extends AsyncDisposable {
  readonly engine: Engine;
  /** Of a result. */
  readonly maxResultBytes: number;
  /** Where the engine looks for the files of a KO that it does not read by its plan. */
  readonly serve?: (ko: string, files: Artifacts['files']) => void;
}

/** Artifacts of the engine, by what their endpoint does. What an engine's artifacts cannot do is left out. */
export interface EngineArtifacts {
  /** Gives `result`, whatever its input. */
  readonly constant?: Artifacts & { readonly result: unknown };
  /** Gives its input back: one of the two must be there. */
  readonly echo?: Artifacts;
  /** Cannot be read; `at`: what its refusal must say of the place. */
  readonly broken?: readonly (Artifacts & { readonly at: RegExp })[];
  /** Does not end; with a limit of its own, which is waited for. */
  readonly endless?: Artifacts;
  /** Does not end while it is activated. */
  readonly endlessActivation?: Artifacts;
  /** Is at fault whatever its input; `says`: what callers are told. */
  readonly failing?: Artifacts & { readonly says: RegExp };
}

export function engineConformance(
  name: string,
  artifacts: EngineArtifacts,
  start: () => Promise<EngineUnderTest>,
): void {
  const { constant, echo, broken = [], endless, endlessActivation, failing } = artifacts;
  const good = echo ?? constant;
  assert.ok(good !== undefined);
  const expected = (input: unknown): unknown => (echo === undefined ? constant?.result : input);
  describe(`the engine ${name} keeps the contract of an engine`, () => {
    const running = Promise.withResolvers<EngineHost>();
    before(async () => running.resolve(new EngineHost(await start())));
    after(async () => (await running.promise)[Symbol.asyncDispose]());
    const testEngine = (what: string, body: (host: EngineHost) => Promise<void>): void =>
      void test(what, async () => body(await running.promise));

    testEngine('it is what the table says, and is well', ({ engine }) => {
      const row = ENGINES.find((each) => each.name === engine.name);
      if (row !== undefined)
        assert.deepEqual([engine.method, engine.builtIn], [row.method, row.builtIn], 'the row of the table');
      const { status, details } = engine.health();
      assert.equal(status, 'UP');
      assert.deepEqual(details['engines'], [engine.name]);
      for (const said of [details, engine.info()]) assert.deepEqual(JSON.parse(JSON.stringify(said)), said);
      return Promise.resolve();
    });

    testEngine('a result is what the artifact makes of its input', async (host) => {
      const executor = await host.activate(good);
      for (const input of [{ a: [1, -0.5, null, true, { b: '"\u2028é𝟘\\' }] }, [], 'text', 0, false, null])
        assert.deepEqual(await host.call(executor, input), expected(input));
    });

    testEngine('calls at the same time get their own results', async (host) => {
      const executor = await host.activate(good);
      const inputs = Array.from({ length: 50 }, (_, i) => ({ i }));
      assert.deepEqual(await Promise.all(inputs.map((input) => host.call(executor, input))), inputs.map(expected));
    });

    for (const [i, each] of broken.entries())
      testEngine(`what cannot be read is refused with its place (${i + 1})`, async (host) => {
        await assert.rejects(host.activate(each), (thrown: unknown) => {
          assert.ok(thrown instanceof ActivationFailure, String(thrown));
          assert.match(thrown.message, each.at);
          assert.ok(!/\n|\/(tmp|home|root|work|src\/engines)\//.test(thrown.message), thrown.message);
          return true;
        });
        assert.equal(host.engine.health().status, 'UP', 'one artifact is not the engine');
      });

    testEngine('what was let go of ends what it began, and may be let go of again', async (host) => {
      const executor = await host.activate(good);
      const running = host.call(executor, 'begun');
      executor.dispose();
      executor.dispose();
      assert.deepEqual(await running, expected('begun'));
      assert.deepEqual(await host.call(await host.activate(good), 'again'), expected('again'));
    });

    testEngine('code of another engine calls it and gets its result', async (host) => {
      const id = await host.activateAs('a/called/1.0/run', good);
      assert.deepEqual(await host.callFromJavascript(id, { n: [1] }), expected({ n: [1] }));
    });

    if (echo !== undefined) {
      testEngine('a result beyond the limit is refused, and the next call is answered', async (host) => {
        const executor = await host.activate(good);
        const large = 'x'.repeat(host.maxResultBytes + 1);
        await assert.rejects(host.call(executor, large), fails(/\blimit\b/));
        assert.equal(await host.call(executor, 'small'), 'small');
      });

      testEngine('a chain of calls has its depth', async (host) => {
        const executor = await host.activate(good);
        assert.equal(await host.call(executor, 1, { depth: MAX_DEPTH }), 1);
        await assert.rejects(host.call(executor, 1, { depth: MAX_DEPTH + 1 }), fails(/16 deep/));
      });
    }
    if (endless !== undefined)
      testEngine('what does not end is ended at its limit, or at that of its caller', async (host) => {
        const [executor, other] = [await host.activate(endless), await host.activate(good)];
        const [ended, answered] = await Promise.allSettled([host.call(executor), host.call(other, 'other')]);
        assert.deepEqual(answered, { status: 'fulfilled', value: expected('other') });
        assert.ok(ended.status === 'rejected' && isRefused(ended.reason), 'by its limit');
        const impatient = host.call(executor, null, { deadline: uptime() + 200 });
        await assert.rejects(impatient, isRefused, 'by the limit of its caller');
        assert.deepEqual(await host.call(other, 'after'), expected('after'));
      });
    if (endlessActivation !== undefined)
      testEngine('what does not end while it is activated is refused, and the next is activated', async (host) => {
        await assert.rejects(host.activate(endlessActivation), ActivationFailure);
        assert.deepEqual(await host.call(await host.activate(good), 1), expected(1));
      });
    if (failing !== undefined)
      testEngine('what fails says why to each caller', async (host) => {
        const executor = await host.activate(failing);
        for (let i = 0; i < 2; i++) await assert.rejects(host.call(executor), fails(failing.says));
      });
  });
}

const isRefused = (thrown: unknown): boolean =>
  thrown instanceof ServiceError && ['execution-timeout', 'overloaded', 'runtime-silent'].includes(thrown.code);

const fails =
  (says: RegExp) =>
  (thrown: unknown): boolean => {
    assert.ok(thrown instanceof ServiceError, String(thrown));
    assert.ok(EXECUTION_ERRORS.has(thrown.code), thrown.code);
    assert.match(thrown.message, says);
    return true;
  };
