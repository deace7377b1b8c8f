import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import type { Config } from './config.ts';
import { SETTINGS } from './settings.ts';
import type { Setting } from './setting.ts';
import { configOf, refusalOf } from '../../test/support/config/config-of.ts';

const table = <T>(read: (config: Config) => T, option: string, values: Readonly<Record<string, T>>): void => {
  for (const [written, value] of Object.entries(values)) {
    assert.deepEqual(read(configOf([`--${option}=${written}`])), value, written);
  }
};

test('durations are in ms, s, m or h, and milliseconds without a unit', () => {
  table(({ limits }) => limits.execution, 'execution-timeout', {
    '500ms': 500,
    '5s': 5000,
    '2m': 120_000,
    '1h': 3_600_000,
    '1.5s': 1500,
    ' 5 S ': 5000,
    '250': 250,
    '24h': 86_400_000,
  });
});

test('the naan of words and URLs is one that may be in an address', () => {
  table(({ defaultNaan }) => defaultNaan, 'default-naan', { '99999': '99999', 'kgrid.org': 'kgrid.org' });
  assert.equal(configOf([]).defaultNaan, 'kgrid');
  for (const value of ['a/b', 'kos', 'endpoints', '..', 'a b', 'ä', 'x'.repeat(65)])
    assert.match(refusalOf([`--default-naan=${value}`]), /^--default-naan is '.*', but must be 1 to 64 letters/);
});

test('sizes are in B, KB, MB or GB of 1024, and bytes without a unit', () => {
  table(({ limits }) => limits.body, 'max-body', {
    '1': 1,
    '10B': 10,
    '500KB': 512_000,
    '10mb': 10 * 2 ** 20,
    '0.5 MB': 2 ** 19,
    '4GB': 4 * 2 ** 30,
  });
});

test('flags, choices, ports and counts', () => {
  const flags = { true: true, YES: true, on: true, 1: true, false: false, No: false, off: false, 0: false };
  table(({ provenance }) => provenance, 'provenance', flags);
  assert.equal(configOf(['--provenance', '--open-metrics']).openMetrics, true, 'a flag alone is true');
  table(({ profile }) => profile, 'profile', { dev: 'dev', Secure: 'secure' });
  table(({ port }) => port, 'port', { 0: 0, 8080: 8080, 65535: 65535 });
  table(({ sandboxes }) => sandboxes, 'sandboxes', { 1: 1, 16: 16 });
});

test('proxies are a number of them, or addresses and networks; alone, the option is one', () => {
  const hops = (count: number, isFlag = false): object => ({ hops: count, networks: [], isFlag });
  const of = (...networks: string[]): object => ({ hops: 0, networks, isFlag: false });
  table<object | undefined>(({ trustProxy }) => trustProxy, 'trust-proxy', {
    false: undefined,
    off: undefined,
    0: undefined,
    true: hops(1, true),
    Yes: hops(1, true),
    1: hops(1),
    16: hops(16),
    '10.0.0.0/8': of('10.0.0.0/8'),
    '192.0.2.7': of('192.0.2.7/32'),
    '10.0.0.0/8, fd00::/8,::1': of('10.0.0.0/8', 'fd00::/8', '::1/128'),
  });
  assert.deepEqual(configOf(['--trust-proxy', '--provenance']).trustProxy, hops(1, true));
  assert.deepEqual(configOf(['--trust-proxy']).trustProxy, hops(1, true));
  assert.deepEqual(configOf(['--trust-proxy', '10.0.0.0/8', '--provenance']).trustProxy, of('10.0.0.0/8'));
  assert.equal(configOf([]).trustProxy, undefined);
});

test('a pause may be 0', () => {
  for (const none of ['0', '0s', '0 ms']) assert.equal(configOf(['--drain', none]).drain, 0);
  assert.equal(configOf(['--drain', '5s']).drain, 5000);
});

test('lists repeat as options and have commas as variables', () => {
  const argv = ['--manifest', 'a.json', '--manifest=https://x.example/m?a,b'];
  assert.deepEqual(configOf(argv).manifests, ['a.json', 'https://x.example/m?a,b']);
  assert.deepEqual(configOf([], { KGRID_MANIFEST: ' a.json, b.json,, ' }).manifests, ['a.json', 'b.json']);
  assert.deepEqual(configOf(['--allow-file-manifests', 'x']).fileManifests, [resolve('x')]);
  assert.deepEqual(configOf(['--property', 'a=1=2', '--property', 'b=']).properties, { a: '1=2', b: '' });
});

test('a bad value is refused with the name of its option or variable and with what is allowed', () => {
  const bad: Readonly<Partial<Record<Setting['kind'], { values: readonly string[]; allowed: RegExp }>>> = {
    port: { values: ['65536', '-1', '80a', '8080.0', '0x50'], allowed: /a port from 0 to 65535/ },
    duration: { values: ['0', '-5s', '5 days', '25h', 's', '1e3'], allowed: /a duration such as 500ms, 5s or 2m/ },
    pause: { values: ['-5s', '5 days', '25h', 's', '0x'], allowed: /a duration such as 500ms, 5s or 2m/ },
    size: { values: ['0', '-1MB', '5GB', '10 bytes', 'MB', 'NaN'], allowed: /a size such as 500KB or 10MB/ },
    count: { values: ['0', '-1', '1.5', 'many', '1000000000'], allowed: /a whole number from 1 on/ },
    flag: { values: ['maybe', '2', 'truee'], allowed: /true or false/ },
    proxies: {
      values: [
        'maybe',
        '17',
        '-1',
        '10.0.0.0/33',
        '10.0.0.0/',
        '10.1',
        '0x7f.0.0.1',
        '10.0.0.0/8/8',
        '::1/129',
        '10.0.0.1,',
        'lb.example',
      ],
      allowed: /how many proxies stand in front, such as 1, up to 16; or their addresses or networks/,
    },
    choice: { values: ['other', 'dev,info'], allowed: /one of \w+, \w+/ },
  };
  let tried = 0;
  for (const { option, env, kind } of SETTINGS) {
    for (const value of bad[kind]?.values ?? []) {
      const allowed = bad[kind]?.allowed ?? /none/;
      for (const [source, message] of [
        [`--${option}`, refusalOf([`--${option}=${value}`])],
        [env, refusalOf([], { [env]: value })],
      ] as const) {
        assert.ok(message.startsWith(`${source} is '${value}', but must be `), message);
        assert.match(message, allowed);
      }
      tried++;
    }
  }
  assert.ok(tried > 100, `${tried}`);
  assert.match(refusalOf([], { SERVER_PORT: 'http' }), /^SERVER_PORT is 'http', but must be a port/);
});

test('what is bad beyond its kind is refused too', () => {
  const refusals: [argv: string[], message: RegExp][] = [
    [['--worker-memory', '63MB'], /^--worker-memory is '63MB', but must be at least 64MB$/],
    [
      ['--worker-memory', '1GB,cobol=1GB'],
      /^--worker-memory is 'cobol=1GB', but must be a size, or one behind the name/,
    ],
    [['--worker-memory', 'python=much'], /^--worker-memory is 'much', but must be a size such as/],
    [['--isolate-memory', '4MB'], /^--isolate-memory is '4MB', but must be at least 8MB$/],
    [['--property', 'novalue'], /^--property is 'novalue', but must be name=value$/],
    [['--property', '=x'], /^--property is '=x', but must be name=value$/],
    [['--cors', 'app.example'], /--cors is 'app\.example', but must be an http or https URL$/],
    [['--public-url', 'ftp://x'], /^--public-url is 'ftp:\/\/x', but must be an http or https URL$/],
    [['--public-url', 'http://me:secret@x'], /^--public-url must have no user and no password$/],
    [['--public-url', 'ftp://me:secret@x'], /^--public-url must have no user and no password$/],
    [
      ['--runtimes', 'none', '--runtimes', 'node'],
      /^--runtimes is 'none', but must be any of node, python, or none alone/,
    ],
    [['--user', 'u'], /^KGRID_PASSWORD is missing: a login needs both KGRID_USER and KGRID_PASSWORD$/],
    [['--password', 'p'], /^KGRID_USER is missing/],
    [['--oauth-issuer', 'https://x'], /^--oauth-audience is missing/],
    [['--oauth-audience', 'a'], /^--oauth-issuer is missing/],
    [['--oauth-scope', 'a'], /^--oauth-issuer is missing/],
  ];
  for (const [argv, message] of refusals) assert.match(refusalOf(argv), message);
  for (const [env, message] of [
    [{ KGRID_RUNTIMES: 'ruby' }, /^KGRID_RUNTIMES is 'ruby', but must be any of node, python, or none alone/],
    [{ KGRID_PROPERTY: 'a=1,b' }, /^KGRID_PROPERTY is 'b', but must be name=value$/],
    [{ CORS_URL: 'app' }, /^an origin of CORS_URL is 'app', but must be an http or https URL$/],
  ] as const) {
    assert.match(refusalOf([], env), message);
  }
});

test('an unknown option is refused with the one that was meant, where that is clear', () => {
  const refusals: Readonly<Record<string, string>> = {
    '--manifests': 'Unknown option --manifests, did you mean --manifest?; --help lists all',
    '--timeout=5s': 'Unknown option --timeout, did you mean --execution-timeout?; --help lists all',
    '--xyzzy': 'Unknown option --xyzzy; --help lists all',
    '-p': 'Unknown option -p; --help lists all',
    folder: 'Unknown option folder; --help lists all',
  };
  for (const [word, message] of Object.entries(refusals)) assert.equal(refusalOf([word]), message);
  assert.equal(refusalOf(['--port', '1', '--port=2']), 'Option --port is given twice');
});

test('no message and no printed configuration holds a password', () => {
  const argv = ['--user', 'ann', '--password', 'open sesame'];
  assert.doesNotMatch(JSON.stringify(configOf(argv)), /sesame/);
  assert.equal(configOf(argv).basic?.password.reveal(), 'open sesame');
  assert.doesNotMatch(refusalOf(['--password', 'open sesame']), /sesame/);
});
