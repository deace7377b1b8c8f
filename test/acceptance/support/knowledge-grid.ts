/** What a client of the service does with knowledge objects, in the words of the field. */
import assert from 'node:assert/strict';
import { jsonBody, upload } from './client.ts';
import { checkedSender } from './interface-check.ts';
import type { Answer, JsonObject, Send, Sent } from './client.ts';
import { zipOf } from './ko.ts';
import type { Ko } from './ko.ts';

export interface Client {
  readonly url: string;
  readonly send: Send;
  readonly get: (path: string, headers?: Sent['headers']) => Promise<Answer>;
  readonly delete: (path: string, headers?: Sent['headers']) => Promise<Answer>;
  /** Posts JSON; a string goes as it is. */
  readonly post: (path: string, body: unknown, headers?: Sent['headers']) => Promise<Answer>;
  readonly put: (path: string, body: unknown, headers?: Sent['headers']) => Promise<Answer>;
  readonly importZip: (zip: Buffer) => Promise<Answer>;
  /** Imports and asserts success. */
  readonly add: (...kos: Ko[]) => Promise<void>;
  readonly reload: (ko: Ko) => Promise<void>;
  /** Imports and activates. */
  readonly serve: (...kos: Ko[]) => Promise<void>;
  readonly endpoints: (naan: string) => Promise<JsonObject[]>;
  /** Ids of what this client imported. */
  readonly imported: ReadonlySet<string>;
}

export function clientOf(url: string, credentials?: string): Client {
  const send = checkedSender(url, credentials);
  const imported = new Set<string>();
  const withJson =
    (method: string) =>
    (path: string, body: unknown, headers: Sent['headers'] = {}): Promise<Answer> => {
      const sent = typeof body === 'string' ? { body } : jsonBody(body);
      return send(method, path, { ...sent, headers: { 'content-type': 'application/json', ...headers } });
    };
  const get: Client['get'] = (path, headers = {}) => send('GET', path, { headers });

  const importZip = async (zip: Buffer): Promise<Answer> => {
    const answer = await send('POST', '/kos', upload(zip));
    if (answer.status === 200) imported.add(String(answer.object['Added']));
    return answer;
  };
  const add = async (...kos: Ko[]): Promise<void> => {
    for (const ko of kos) {
      const answer = await importZip(await zipOf(ko.files));
      assert.equal(answer.status, 200, answer.text);
    }
  };
  const reload = async (ko: Ko): Promise<void> => {
    const answer = await get(`/actuator/activation/reload/${ko.id}`);
    assert.equal(answer.status, 303, answer.text);
  };
  return {
    url,
    send,
    get,
    delete: (path, headers = {}) => send('DELETE', path, { headers }),
    post: withJson('POST'),
    put: withJson('PUT'),
    importZip,
    add,
    reload,
    async serve(...kos) {
      await add(...kos);
      for (const ko of kos) await reload(ko);
    },
    async endpoints(naan) {
      const all = await get('/endpoints');
      assert.equal(all.status, 200, all.text);
      return all.list.filter((endpoint) => String(endpoint['@id']).startsWith(`${naan}/`));
    },
    imported,
  };
}

/** `/<naan>/<name>/<apiVersion>/<endpoint>`. */
export const pathOf = (ko: Ko, endpoint = 'run'): string => `/${ko.naan}/${ko.name}/${ko.apiVersion}/${endpoint}`;
