/** Code that is hostile already when it is loaded: "code that never ends at its top level fails its activation only". */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explode } from '../acceptance/support/folders.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import { Companion, wellBehavedKo } from './support/companion.ts';
import { assertBackTo, restingFootprintOf } from './support/footprint.ts';

/** What stands before the function, and what `detail` says. */
const codes: readonly { readonly name: string; readonly top: string; readonly says: RegExp }[] = [
  { name: 'a loop', top: 'while (true);', says: /src\/index\.js does not end within 1 s/ },
  {
    name: 'a loop in a built-in',
    top: '[].indexOf.call({ length: 2 ** 53 - 1 }, 1);',
    says: /does not end within 1 s/,
  },
  {
    name: 'a loop in a microtask',
    top: 'Promise.resolve().then(() => { while (true); });',
    says: /does not end within 1 s/,
  },
  { name: 'a message that loops', top: 'throw { get message() { while (true); } };', says: /does not end within 1 s/ },
  {
    name: 'a stack that loops',
    top: 'const e = new Error(); Object.defineProperty(e, "stack", { get() { while (true); } }); throw e;',
    says: /does not end within 1 s/,
  },
  {
    name: 'an unhandled rejection that loops',
    top: 'Promise.reject({ get message() { while (true); } });',
    says: /does not end within 1 s/,
  },
  { name: 'a memory bomb', top: 'const a = []; for (;;) a.push({});', says: /memory|does not end/ },
  {
    name: 'a memory bomb that catches',
    top: 'const a = []; for (;;) try { a.push(new Array(1000).fill({})); } catch {}',
    says: /memory|does not end/,
  },
  { name: 'a module that loops', top: 'export {}; while (true);', says: /does not end within 1 s/ },
  {
    name: 'a module that never settles',
    top: 'await new Promise(() => {}); export {};',
    says: /awaits something that never settles/,
  },
  {
    name: 'a getter in place of the function',
    top: 'Object.defineProperty(globalThis, "run", { get() { while (true); } }); if (0)',
    says: /does not end within 1 s|no function/,
  },
  {
    name: 'what exports a Proxy that loops',
    top: 'module.exports = new Proxy({}, { get() { while (true); } }); if (0)',
    says: /does not end within 1 s|no function/,
  },
  { name: 'a message of 1 MB', top: 'throw new Error("x".repeat(1e6));', says: /^x{4000} \(src\/index\.js\)$/ },
  {
    name: 'a message of 100 MB',
    top: 'throw new Error("x".repeat(1e8));',
    // V8 alone takes 0.1 s of a core to write it out.
    says: /^x{4000} \(src\/index\.js\)$|does not end within 1 s/,
  },
  {
    name: 'an object that is thrown',
    top: 'throw {};',
    says: /^the code threw an object that is no Error \(src\/index\.js\)$/,
  },
  {
    name: 'syntax too deep to read',
    top: '['.repeat(1e5),
    says: /^RangeError: Maximum call stack size exceeded \(src\/index\.js\)$/,
  },
  { name: 'broken syntax', top: 'function (', says: /src\/index\.js line 1/ },
  { name: 'calls of others', top: 'context.getExecutor("a/b/c/d");', says: /during a call only/ },
  { name: 'a log line without end', top: 'for (;;) console.log("x");', says: /does not end within 1 s/ },
];

test('code that is hostile when it loads', async (t) => {
  const naan = uniqueNaan();
  const well = wellBehavedKo(naan);
  const kos = codes.map(({ top }, i) =>
    javascriptKo(top.endsWith('if (0)') ? `${top};` : `${top}\nfunction run() {}\n`, { naan, name: `case${i}` }),
  );
  await using shelf = await temporaryFolder();
  await explode(well, shelf.path, well.name);
  await using service = await startService({
    shelf: shelf.path,
    args: ['--execution-timeout', '1s', '--isolate-memory', '32MB'],
  });
  await service.post(pathOf(well), { a: 1, b: 1, words: [] });
  // From its first line on, the file of the audit stays open.
  await service.get('/actuator/activation/reload');
  const before = await restingFootprintOf(service.pid);
  {
    using companion = new Companion(service, well);
    for (const ko of kos) await explode(ko, shelf.path, ko.name);
    assert.equal((await service.get('/actuator/activation/reload')).status, 303);
    await t.test('others are answered right and in time meanwhile', () => companion.assertUndisturbed());
  }
  const endpoints = new Map((await service.endpoints(naan)).map((each) => [String(each['@id']), each]));
  for (const [i, { name, says }] of codes.entries()) {
    await t.test(`${name} fails alone, and the endpoint says why`, async () => {
      const endpoint = endpoints.get(`${naan}/case${i}/1.0/run`);
      assert.equal(endpoint?.['status'], 'FAILED_TO_ACTIVATE');
      assert.match(String(endpoint['detail']), says);
      assert.equal((await service.post(`/${naan}/case${i}/1.0/run`, {})).status, 404);
    });
  }
  await t.test('the others are active', () => {
    assert.equal(endpoints.get(`${naan}/well/1.0/run`)?.['status'], 'ACTIVATED');
  });
  await t.test('afterwards the service is where it was', () => assertBackTo(before, service.pid));
});
