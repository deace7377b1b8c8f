import assert from 'node:assert/strict';
import { ServiceError } from '../../../src/lib/errors.ts';
import { toConfig } from '../../../src/config/config.ts';
import type { Config } from '../../../src/config/config.ts';
import { readSettings } from '../../../src/config/read-settings.ts';

/** The configuration of a service that is started with these options and variables. @throws startRefused. */
export function configOf(argv: readonly string[], env: NodeJS.ProcessEnv = {}): Config {
  const given = readSettings(argv, env);
  assert.ok('settings' in given);
  return toConfig(given.settings);
}

/** The one line that stops the start. */
export function refusalOf(argv: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  try {
    configOf(argv, env);
  } catch (thrown) {
    assert.ok(thrown instanceof ServiceError && thrown.code === 'start-refused', String(thrown));
    assert.doesNotMatch(thrown.message, /\n/);
    return thrown.message;
  }
  return assert.fail(`${[...argv, ...Object.entries(env)].join(' ')} was accepted`);
}
