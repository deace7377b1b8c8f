/** What callers hear when code of the runtimes' engines fails: the same for both. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRequestError } from '../acceptance/support/expectations.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import { theWorkersService } from './support/the-services.ts';

const naan = uniqueNaan();
const node = runtimeKo({
  naan,
  name: 'node',
  engine: 'node',
  code: {
    'src/index.js': `
const invalid = (message, status) => Object.assign(new Error(message), { name: 'InvalidInputError', status });
exports.run = async ({ how, id, number }) => ({
  invalid: () => { throw invalid('no age', 422); },
  bad: () => { throw invalid('no age', 400); },
  bare: () => { throw Object.assign(new Error('from HTTP'), { status: 422 }); },
  nested: () => global.cxt.getExecutorByID(id).execute({ how: 'invalid' }),
  odd: () => ({ list: [0, { score: Number(number) }] }),
  digits: () => 0.1 + 0.2,
})[how]();`,
  },
});
const python = runtimeKo({
  naan,
  name: 'python',
  engine: 'python',
  code: {
    'src/main.py': `
from decimal import Decimal
from kgrid_python_runtime import InvalidInputError
from kgrid_python_runtime.context import Context

class HttpError(Exception):
    status = 422

def raises(error):
    raise error

def run(value):
    return {
        "invalid": lambda: raises(InvalidInputError("no age")),
        "bad": lambda: raises(InvalidInputError("no age", status=400)),
        "bare": lambda: raises(HttpError("from HTTP")),
        "nested": lambda: Context().get_executor_by_id(value["id"])({"how": "invalid"}),
        "odd": lambda: {"list": [0, {"score": float(value["number"])}]},
        "digits": lambda: [Decimal("12345678901234567890.50")],
    }[value["how"]]()
`,
  },
});
const javascript = javascriptKo(
  'function run() { throw Object.assign(new Error("not mine"), { name: "InvalidInputError", status: 422 }); }',
  { naan, name: 'javascript' },
);
const { service } = await theWorkersService();
await service.add(node, python, javascript);
for (const ko of [node, python, javascript]) await service.reload(ko);

const failed = 'General Adapter Exception';

for (const ko of [node, python]) {
  const path = pathOf(ko);

  test(`${ko.name}: code says that its input is at fault, and nothing else counts as that`, async () => {
    const invalid = { path, title: 'Invalid Input', detail: 'no age' };
    assertRequestError(await service.post(path, { how: 'invalid' }), { ...invalid, status: 422 });
    assertRequestError(await service.post(path, { how: 'bad' }), { ...invalid, status: 400 });
    const bare = { path, status: 500, title: failed, detail: /^Code execution error: (Error|HttpError): from HTTP$/ };
    assertRequestError(await service.post(path, { how: 'bare' }), bare);
    for (const other of [node, python, javascript]) {
      const nested = await service.post(path, { how: 'nested', id: pathOf(other).slice(1) });
      assertRequestError(nested, {
        path,
        status: 500,
        title: failed,
        detail: /^Code execution error: .*(no age|not mine)$/,
      });
    }
  });

  test(`${ko.name}: a number that JSON does not know is an error with its place`, async () => {
    for (const number of ['NaN', 'Infinity', '-Infinity']) {
      const detail = `Code execution error: the result holds ${number} at result.list[1].score`;
      const answer = await service.post(path, { how: 'odd', number });
      assertRequestError(answer, { path, status: 500, title: failed, detail });
    }
  });
}

test('numbers reach the caller with all of their digits', async () => {
  const { text } = await service.post(pathOf(python), { how: 'digits' });
  assert.ok(text.includes('[12345678901234567890.50]'), text);
});
