/** Holds answers of the service to its OpenAPI document, and remembers what was seen. */
import assert from 'node:assert/strict';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import type { Answer } from '../../acceptance/support/client.ts';
import type { Document, Method, Response } from './interface.ts';

/** What HTTP itself, CORS, the protection of browsers and the log put on any answer. */
const GENERAL =
  /^(date|connection|keep-alive|trailer|transfer-encoding|vary|content-(type|length)|x-content-type-options|x-request-id|access-control-.*)$/;

export class CheckedAnswers {
  readonly #document: Document;
  readonly #ajv = new Ajv({ strict: false, allErrors: true });
  readonly #seen = new Map<string, Set<string>>();

  constructor(document: Document) {
    this.#document = document;
    // Its type is that of a CommonJS module.
    (formats as unknown as (ajv: Ajv) => void)(this.#ajv);
  }

  /** @param path as in the document. @param others whether an error that is not described may be the `default`. @throws AssertionError that names what does not agree. */
  check(method: Method, path: string, answer: Answer, others: 'none' | 'as default' = 'none'): void {
    const operation = this.#document.paths[path]?.[method];
    assert.ok(operation, `${method} ${path} is not in the document`);
    const status = String(answer.status);
    const where = `${method} ${path} ${status}`;
    const own = operation.responses[status];
    const isOther = method === 'head' || (others === 'as default' && answer.status >= 400);
    const response = own ?? (isOther ? operation.responses['default'] : undefined);
    assert.ok(response, `${where} is not in the document: ${answer.text}`);
    const seen = this.#seen.get(operation.operationId) ?? new Set();
    this.#seen.set(operation.operationId, seen.add(status));
    if (method === 'head') {
      assert.equal(answer.bytes.length, 0, where);
      return;
    }
    if (own !== undefined) this.#checkHeaders(where, response, answer);
    this.#checkBody(where, response, answer);
  }

  /** `<operationId> <status>` of what the document has and no answer had. */
  unseen(): string[] {
    return Object.values(this.#document.paths).flatMap((item) =>
      Object.values(item).flatMap((operation) => {
        if (typeof operation !== 'object' || !('responses' in operation)) return [];
        const seen = this.#seen.get(operation.operationId);
        return Object.keys(operation.responses)
          .filter((status) => status !== 'default' && seen?.has(status) !== true)
          .map((status) => `${operation.operationId} ${status}`);
      }),
    );
  }

  #checkHeaders(where: string, { headers = {} }: Response, answer: Answer): void {
    const declared = new Map(Object.entries(headers).map(([name, header]) => [name.toLowerCase(), header]));
    assert.ok(answer.headers['x-request-id'] !== undefined, `${where}: it has no X-Request-Id`);
    for (const name of Object.keys(answer.headers)) {
      assert.ok(GENERAL.test(name) || declared.has(name), `${where}: the header ${name} is not in the document`);
    }
    for (const [name, { required = false, schema }] of declared) {
      const value = answer.headers[name];
      assert.ok(value !== undefined || !required, `${where}: the header ${name} is missing`);
      if (value !== undefined) assert.ok(this.#ajv.validate(schema, value), `${where}: ${name}: ${String(value)}`);
    }
  }

  #checkBody(where: string, { content }: Response, answer: Answer): void {
    if (content === undefined) {
      assert.equal(answer.text, '', where);
      return;
    }
    const [type = ''] = (answer.headers['content-type'] ?? '').split(';');
    const media = content[type] ?? content['*/*'];
    assert.ok(media, `${where}: ${type} is not in the document`);
    if (content[type] === undefined || !/[/+]json$/.test(type)) return;
    const valid = this.#ajv.validate(media.schema, answer.json);
    assert.ok(valid, `${where}: ${this.#ajv.errorsText()}: ${answer.text.slice(0, 400)}`);
  }
}
