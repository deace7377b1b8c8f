import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { spellingsOf } from '../access/spellings.ts';
import { exchange } from './support/client.ts';
import { checkedSender } from './support/interface-check.ts';
import { BMI, deployment, secondClient, secondKo, uniqueWord } from './support/second-generation.ts';
import type { Files } from './support/second-generation.ts';
import { startService } from './support/service.ts';

const credentials = 'ann:a long password';
const env = { KGRID_USER: 'ann', KGRID_PASSWORD: 'a long password' };
const service = await startService({ profile: 'secure', args: ['--secure-execution'], env, credentials });
after(() => service[Symbol.asyncDispose]());
const ADA = { body: '{"weight":70,"height":1.75}', headers: { 'content-type': 'application/json' } };

const bmiKo = (atId: string): Files =>
  secondKo({ atId, serverUrl: `/endpoints/${atId}`, files: { 'bmi.js': BMI, 'deployment.yaml': deployment() } });

test('where execution is secured, no spelling of an @id runs anything without a login', async () => {
  const { serve } = secondClient(service);
  const word = uniqueWord();
  const url = `https://example.org/${uniqueWord()}`;
  for (const atId of [word, url]) await serve(bmiKo(atId));
  const anonymous = checkedSender(service.url);
  const paths = [word, url, encodeURIComponent(url), url.replace('//', '/')].map((each) => `/endpoints/${each}/bmi`);
  let refused = 0;
  for (const path of paths) {
    assert.equal((await service.send('POST', path, ADA)).status, 200, path);
    for (const spelled of [path, ...spellingsOf(path)]) {
      const text = await exchange(
        service.url,
        `POST ${spelled} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${ADA.body.length}\r\nConnection: close\r\n\r\n${ADA.body}`,
      );
      assert.doesNotMatch(text, /^HTTP\/1.1 2|"result"/, spelled);
      if (text.startsWith('HTTP/1.1 401')) refused++;
    }
    assert.equal((await anonymous('POST', path, ADA)).status, 401, path);
  }
  assert.ok(refused > paths.length, `${refused} refused`);
});

test('an @id that looks like a path of the service opens nothing of it, and nothing is written by an @id', async () => {
  const { serve } = secondClient(service);
  const anonymous = checkedSender(service.url);
  for (const [i, start] of [
    'actuator/info',
    'actuator/activation/reload',
    '../actuator/info',
    'kos',
    'proxy/environments',
  ].entries()) {
    const atId = `${start}/x-${i}`;
    const place = await serve(bmiKo(atId));
    for (const base of ['/kos/', '/endpoints/'])
      for (const spelled of [atId, encodeURIComponent(atId)])
        for (const method of ['PUT', 'DELETE', 'PATCH'])
          for (const send of [anonymous, service.send]) {
            const { status } = await send(method, `${base}${spelled}`, ADA);
            assert.ok([401, 404, 405].includes(status), `${method} ${base}${spelled}: ${status}`);
          }
    assert.equal((await anonymous('GET', `/kos/${place}`)).status, 200);
    assert.equal((await anonymous('GET', `/kos/${encodeURIComponent(atId)}/service`)).status, 200);
  }
  for (const base of ['/kos', '/endpoints', '/kos/https:', '/endpoints/https:/'])
    for (const path of [
      '/../actuator/info',
      '/..%2factuator/info',
      '/%2e%2e/actuator/info',
      '/%252e%252e/actuator/info',
    ]) {
      const { status } = await anonymous('GET', base + path);
      assert.ok([400, 401, 404].includes(status), `${base}${path}: ${status}`);
    }
});

test('behind a proxy that merges slashes, or decodes them, an @id that is a URL is found', async () => {
  const { serve } = secondClient(service);
  const url = `https://example.org/a/${uniqueWord()}`;
  const place = await serve(bmiKo(url));
  const proxies = [
    (path: string) => path.replaceAll(/\/+/g, '/'),
    (path: string) => decodeURIComponent(path),
    (path: string) => decodeURIComponent(path).replaceAll(/\/+/g, '/'),
  ];
  for (const through of proxies)
    for (const spelled of [url, encodeURIComponent(url)]) {
      const called = await service.send('POST', through(`/endpoints/${spelled}/bmi`), ADA);
      assert.equal(called.object['result'], 22.9, through(spelled));
      const read = await service.get(through(`/kos/${spelled}`));
      assert.equal(read.headers['content-location'], `/kos/${place}`);
      assert.equal((await service.get(through(`/kos/${spelled}/service`))).status, 200);
      const put = await service.put(through(`/kos/${spelled}`), {});
      assert.deepEqual([put.status, put.text.includes(`/kos/${place}`)], [405, true], put.text);
    }
});
