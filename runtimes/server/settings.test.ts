import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { forWorkers } from '../../src/engines/supervisor/adapter.ts';
import { COMMON, endsWithStdin, OF_ENGINES, readSettings, withHandedOver } from './settings.ts';

const engineOf = (name: string): 'node' | 'python' => (name.includes('PYTHON') ? 'python' : 'node');

describe('settings', () => {
  it('have the defaults of the tables in the README, and no others', async () => {
    const readme = await readFile(join(import.meta.dirname, 'README.md'), 'utf8');
    const rows = [...readme.matchAll(/^\| `([A-Z_]+)` +\|(.*)\|$/gm)].map(([, name = '', cells = '']) => [
      name,
      cells.split('|').map((cell) => (cell.trim() === '-' ? undefined : (/`([^`]*)`/.exec(cell)?.[1] ?? ''))),
    ]) as [string, (string | undefined)[]][];
    const common = Object.entries(COMMON).map(([name, value]) => [name, value]);
    const ofEngines = Object.entries(OF_ENGINES).map(([name, { node, python }]) => [name, node, python]);
    assert.deepEqual(
      rows.map(([name, cells]) => [name, ...cells.slice(0, -1)]),
      [...common, ...ofEngines],
    );
  });

  it('take credentials out of the address of the activator', () => {
    const settings = readSettings(
      { KGRID_PROXY_ADAPTER_URL: 'https://me%40here:p%3Ass@activator.test/base?x#y' },
      'node',
    );
    assert.equal(settings.activatorUrl.href, 'https://activator.test/base/');
    assert.equal(settings.authorization, `Basic ${Buffer.from('me@here:p:ss').toString('base64')}`);
    assert.equal(readSettings({}, 'node').authorization, undefined);
  });

  it('are numbers with units, flags and addresses', () => {
    const settings = readSettings(
      {
        KGRID_NODE_EXECUTION_TIMEOUT: '1.5',
        KGRID_NODE_OUTPUT_LIMIT: '2',
        KGRID_NODE_LOAD_FROM_CACHE: 'TRUE',
        KGRID_NODE_ENV_URL: 'http://node.test:3000/',
        KGRID_NODE_ENV_PORT: '',
      },
      'node',
    );
    assert.partialDeepStrictEqual(settings, {
      executionTimeoutMs: 1500,
      outputLimit: 2_000_000,
      cacheStrategy: 'always',
      publicUrl: 'http://node.test:3000',
      port: 3000,
    });
  });

  it('are refused by name where they cannot be used', () => {
    for (const [name, value] of Object.entries({
      KGRID_PROXY_ADAPTER_URL: 'ftp://x',
      KGRID_NODE_ENV_URL: 'here',
      KGRID_NODE_ENV_PORT: '70000',
      KGRID_NODE_CONCURRENCY: '0',
      KGRID_NODE_MEMORY_LIMIT: 'much',
      KGRID_NODE_ALLOW_INSTALL_SCRIPTS: 'maybe',
      KGRID_PYTHON_MEMORY_LIMIT: '1M',
      KGRID_PYTHON_ENV_PORT: '65536',
      KGRID_PYTHON_CACHE_STRATEGY: 'sometimes',
      KGRID_PYTHON_ALLOW_SOURCE_BUILDS: 'one',
      KGRID_RUNTIME_PARENT: 'tty',
    })) {
      const read = (): unknown => [readSettings({ [name]: value }, engineOf(name)), endsWithStdin({ [name]: value })];
      assert.throws(read, {
        name: 'SettingsError',
        message: new RegExp(`^${name} must`),
      });
    }
  });

  it('keep secrets from installers and knowledge objects', () => {
    const given = {
      PATH: '/bin',
      HOME: '/home/me',
      NPM_TOKEN: 'registry',
      npm_config_registry: 'http://registry.test',
      https_proxy: 'http://proxy.test',
      TZ: 'UTC',
      KGRID_PASSWORD: 'x',
      PGPASSWORD: 'x',
      NODE_OPTIONS: '--inspect',
    };
    const { installerEnvironment } = readSettings(given, 'node');
    assert.deepEqual(Object.keys(installerEnvironment), [
      'PATH',
      'HOME',
      'NPM_TOKEN',
      'npm_config_registry',
      'https_proxy',
    ]);
    assert.deepEqual(forWorkers(given), { TZ: 'UTC' });
    const handedOver = { secret: 's', installer: { npm_config_registry: 'http://given.test', KGRID_PASSWORD: 'x' } };
    const merged = withHandedOver(readSettings({ PATH: '/bin' }, 'node'), handedOver);
    assert.equal(merged.secret, 's');
    assert.deepEqual(merged.installerEnvironment, { PATH: '/bin', npm_config_registry: 'http://given.test' });
  });

  it('have units, and an address on another machine makes python listen to others', () => {
    const memory = (said: string): number => readSettings({ KGRID_PYTHON_MEMORY_LIMIT: said }, 'python').memoryLimitMb;
    assert.deepEqual(['64M', '1g', '134217728'].map(memory), [64, 1024, 128]);
    const host = (url: string): string => readSettings({ KGRID_PYTHON_ENV_URL: url }, 'python').host;
    assert.deepEqual(['http://python:5000', 'http://localhost:5000', ''].map(host), [
      '0.0.0.0',
      '127.0.0.1',
      '127.0.0.1',
    ]);
  });
});
