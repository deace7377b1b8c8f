import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { defaults, readSettings, withHandedOver } from './settings.ts';

describe('settings', () => {
  it('have the defaults of the table in the README, and no others', async () => {
    const readme = await readFile(join(import.meta.dirname, 'README.md'), 'utf8');
    const rows = [...readme.matchAll(/^\| `([A-Z_]+)` +\| ([^|]*?) +\|/gm)];
    const table = rows.map(([, name, text = '']) => [name, /`([^`]*)`/.exec(text)?.[1] ?? '']);
    assert.deepEqual(table, Object.entries(defaults));
  });

  it('take credentials out of the address of the activator', () => {
    const settings = readSettings({ KGRID_PROXY_ADAPTER_URL: 'https://me%40here:p%3Ass@activator.test/base?x#y' });
    assert.equal(settings.activatorUrl.href, 'https://activator.test/base/');
    assert.equal(settings.authorization, `Basic ${Buffer.from('me@here:p:ss').toString('base64')}`);
    assert.equal(readSettings({}).authorization, undefined);
  });

  it('are numbers with units, flags and addresses', () => {
    const settings = readSettings({
      KGRID_NODE_EXECUTION_TIMEOUT: '1.5',
      KGRID_NODE_OUTPUT_LIMIT: '2',
      KGRID_NODE_LOAD_FROM_CACHE: 'TRUE',
      KGRID_NODE_ENV_URL: 'http://node.test:3000/',
      KGRID_NODE_ENV_PORT: '',
      KGRID_RUNTIME_PARENT: 'stdin',
    });
    assert.partialDeepStrictEqual(settings, {
      executionTimeoutMs: 1500,
      outputLimit: 2_000_000,
      loadFromCache: true,
      publicUrl: 'http://node.test:3000',
      port: 3000,
      endWithStdin: true,
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
      KGRID_RUNTIME_PARENT: 'tty',
    })) {
      assert.throws(() => readSettings({ [name]: value }), {
        name: 'SettingsError',
        message: new RegExp(`^${name} must`),
      });
    }
  });

  it('keep secrets from installers and knowledge objects', () => {
    const { installerEnvironment, workerEnvironment } = readSettings({
      PATH: '/bin',
      HOME: '/home/me',
      NPM_TOKEN: 'registry',
      npm_config_registry: 'http://registry.test',
      https_proxy: 'http://proxy.test',
      TZ: 'UTC',
      KGRID_PASSWORD: 'x',
      PGPASSWORD: 'x',
      NODE_OPTIONS: '--inspect',
    });
    assert.deepEqual(Object.keys(installerEnvironment), [
      'PATH',
      'HOME',
      'NPM_TOKEN',
      'npm_config_registry',
      'https_proxy',
    ]);
    assert.deepEqual(workerEnvironment, { TZ: 'UTC' });
    const handedOver = { secret: 's', installer: { npm_config_registry: 'http://given.test', KGRID_PASSWORD: 'x' } };
    const merged = withHandedOver(readSettings({ PATH: '/bin' }), handedOver);
    assert.equal(merged.secret, 's');
    assert.deepEqual(merged.installerEnvironment, { PATH: '/bin', npm_config_registry: 'http://given.test' });
  });
});
