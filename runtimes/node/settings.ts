/**
 * The settings: names of the environment on one side, a typed and frozen object on the other. Nothing else in
 * the runtime reads the environment. The table is kept equal to the README's by a test.
 */
import { resolve } from 'node:path';
import { userCache } from '../../src/lib/user-cache.ts';
import type { HandedOver } from './lib/parent.ts';
import { withoutEndSlashes } from './lib/text.ts';

export interface Settings {
  /** The activator, without the credentials that its address may hold. */
  readonly activatorUrl: URL;
  /** `Authorization` for the activator, from the credentials in its address. */
  readonly authorization: string | undefined;
  /** The address the activator is told; the listening address when absent. */
  readonly publicUrl: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly heartbeatMs: number;
  readonly loadFromCache: boolean;
  readonly cacheDir: string;
  readonly cacheBytes: number;
  readonly cacheAgeMs: number;
  readonly executionTimeoutMs: number;
  readonly memoryLimitMb: number;
  /** Calls of one knowledge object that run at the same time. */
  readonly concurrency: number;
  /** Calls of one knowledge object that wait. */
  readonly queue: number;
  readonly idleTimeoutMs: number;
  readonly idleWorkers: number;
  readonly outputLimit: number;
  readonly bodyLimit: number;
  readonly installTimeoutMs: number;
  readonly allowInstallScripts: boolean;
  readonly permissions: boolean;
  readonly allowAddons: boolean;
  /** How long a `POST /endpoints` waits before it answers that the endpoint is in processing. */
  readonly activationWaitMs: number;
  /** The secret of this start, shared with the activator that started the runtime. */
  readonly secret: string | undefined;
  readonly endWithStdin: boolean;
  readonly debug: boolean;
  /** What the package installer may see of the environment. */
  readonly installerEnvironment: Readonly<Record<string, string>>;
  /** What the code of a knowledge object sees as its environment. */
  readonly workerEnvironment: Readonly<Record<string, string>>;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting that cannot be used; the message names it and says what is allowed. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** Every setting with its default, as the README lists them. */
export const defaults = {
  KGRID_PROXY_ADAPTER_URL: 'http://localhost:8080',
  KGRID_NODE_ENV_URL: '',
  KGRID_NODE_ENV_PORT: '3000',
  KGRID_NODE_HOST: '127.0.0.1',
  KGRID_PROXY_HEARTBEAT_INTERVAL: '30',
  KGRID_NODE_LOAD_FROM_CACHE: 'false',
  KGRID_NODE_CACHE_DIR: '',
  KGRID_NODE_CACHE_SIZE: '2000',
  KGRID_NODE_CACHE_DAYS: '30',
  KGRID_NODE_EXECUTION_TIMEOUT: '29',
  KGRID_NODE_MEMORY_LIMIT: '256',
  KGRID_NODE_CONCURRENCY: '16',
  KGRID_NODE_QUEUE: '1000',
  KGRID_NODE_IDLE_TIMEOUT: '300',
  KGRID_NODE_IDLE_WORKERS: '16',
  KGRID_NODE_OUTPUT_LIMIT: '20',
  KGRID_NODE_BODY_LIMIT: '10',
  KGRID_NODE_INSTALL_TIMEOUT: '300',
  KGRID_NODE_ALLOW_INSTALL_SCRIPTS: 'false',
  KGRID_NODE_PERMISSIONS: 'true',
  KGRID_NODE_ALLOW_ADDONS: 'false',
  KGRID_NODE_ACTIVATION_WAIT: '5',
  KGRID_RUNTIME_PARENT: '',
  DEBUG: '',
} as const;

type Name = keyof typeof defaults;

/** As long as a text of V8 can be, or a little less. */
const maxTextMb = 536;

const passedToInstaller =
  /^(PATH|HOME|TMPDIR|LANG|LC_\w+|XDG_\w+|NPM_\w+|(https?|no|all)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/i;
const passedToWorkers = /^(LANG|LC_\w+|TZ)$/;

/** @throws SettingsError. */
export function readSettings(environment: Environment): Settings {
  const text = (name: Name): string => environment[name]?.trim() || defaults[name];
  const activator = address('KGRID_PROXY_ADAPTER_URL', text('KGRID_PROXY_ADAPTER_URL'));
  const number = (name: Name, lowest: number, highest = Number.MAX_SAFE_INTEGER): number => {
    const value = Number(text(name));
    if (Number.isFinite(value) && value >= lowest && value <= highest) return value;
    throw new SettingsError(`${name} must be a number from ${lowest} to ${highest}, but is ${text(name)}`);
  };
  const flag = (name: Name): boolean => {
    const value = text(name).toLowerCase();
    if (['true', 'on', '1', 'yes'].includes(value)) return true;
    if (['false', 'off', '0', 'no'].includes(value)) return false;
    throw new SettingsError(`${name} must be true or false, but is ${value}`);
  };
  const parent = text('KGRID_RUNTIME_PARENT');
  if (!['', 'stdin'].includes(parent)) {
    throw new SettingsError(`KGRID_RUNTIME_PARENT must be stdin or empty, but is ${parent}`);
  }
  const publicUrl = text('KGRID_NODE_ENV_URL');

  return Object.freeze({
    activatorUrl: withoutCredentials(activator),
    authorization: basicAuthorization(activator),
    publicUrl: publicUrl ? withoutEndSlashes(address('KGRID_NODE_ENV_URL', publicUrl).href) : undefined,
    host: text('KGRID_NODE_HOST'),
    port: Math.floor(number('KGRID_NODE_ENV_PORT', 0, 65535)),
    heartbeatMs: number('KGRID_PROXY_HEARTBEAT_INTERVAL', 0, 86_400) * 1000,
    loadFromCache: flag('KGRID_NODE_LOAD_FROM_CACHE'),
    cacheDir: resolve(text('KGRID_NODE_CACHE_DIR') || userCache('kgrid-node-runtime')),
    cacheBytes: number('KGRID_NODE_CACHE_SIZE', 0) * 1_000_000,
    cacheAgeMs: number('KGRID_NODE_CACHE_DAYS', 0) * 86_400_000,
    executionTimeoutMs: number('KGRID_NODE_EXECUTION_TIMEOUT', 0.1, 86_400) * 1000,
    memoryLimitMb: Math.floor(number('KGRID_NODE_MEMORY_LIMIT', 16)),
    concurrency: Math.floor(number('KGRID_NODE_CONCURRENCY', 1)),
    queue: Math.floor(number('KGRID_NODE_QUEUE', 0)),
    idleTimeoutMs: number('KGRID_NODE_IDLE_TIMEOUT', 0.1, 86_400) * 1000,
    idleWorkers: Math.floor(number('KGRID_NODE_IDLE_WORKERS', 0)),
    outputLimit: Math.round(number('KGRID_NODE_OUTPUT_LIMIT', 0.001, maxTextMb) * 1_000_000),
    bodyLimit: Math.round(number('KGRID_NODE_BODY_LIMIT', 0.001, maxTextMb) * 1_000_000),
    installTimeoutMs: number('KGRID_NODE_INSTALL_TIMEOUT', 1, 86_400) * 1000,
    allowInstallScripts: flag('KGRID_NODE_ALLOW_INSTALL_SCRIPTS'),
    permissions: flag('KGRID_NODE_PERMISSIONS'),
    allowAddons: flag('KGRID_NODE_ALLOW_ADDONS'),
    activationWaitMs: number('KGRID_NODE_ACTIVATION_WAIT', 0, 20) * 1000,
    secret: undefined,
    endWithStdin: parent === 'stdin',
    debug: text('DEBUG') !== '',
    installerEnvironment: only(environment, passedToInstaller),
    workerEnvironment: only(environment, passedToWorkers),
  });
}

/** With what the program that started the runtime said by its standard input. */
export const withHandedOver = (settings: Settings, { secret, installer }: HandedOver): Settings =>
  Object.freeze({
    ...settings,
    secret,
    installerEnvironment: { ...settings.installerEnvironment, ...only(installer, passedToInstaller) },
  });

function address(name: Name, text: string): URL {
  const url = URL.parse(text);
  if (url && ['http:', 'https:'].includes(url.protocol)) return url;
  throw new SettingsError(`${name} must be an http or https address`);
}

function withoutCredentials(url: URL): URL {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  bare.hash = '';
  bare.search = '';
  if (!bare.pathname.endsWith('/')) bare.pathname += '/';
  return bare;
}

function basicAuthorization(url: URL): string | undefined {
  if (!url.username && !url.password) return undefined;
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

function only(environment: Environment, names: RegExp): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment))
    if (value !== undefined && names.test(name)) found[name] = value;
  return found;
}
