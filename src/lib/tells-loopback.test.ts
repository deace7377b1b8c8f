import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoopback } from './host-port.ts';

for (const host of [
  'localhost',
  'LOCALHOST',
  '127.0.0.1',
  '127.8.9.10',
  '::1',
  '[::1]',
  '0:0:0:0:0:0:0:1',
  '::ffff:127.0.0.1',
])
  test(`${host} is this machine`, () => assert.equal(isLoopback(host), true));

for (const host of [
  '127.evil.example',
  '127.0.0.1.evil.example',
  '127.1.2',
  '127.0.0.256',
  'localhost.evil.example',
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '::2',
  '[::1',
  '',
])
  test(`${host === '' ? 'nothing' : host} is not`, () => assert.equal(isLoopback(host), false));
