/**
 * The settings of a runtime: names of the environment on one side, a typed and frozen object on the other. Nothing else in
 * the runtime reads the environment. The table is kept equal to the README's by a test.
 */
import { resolve } from 'node:path';
import { forInstallers } from '../../src/engines/supervisor/adapter.ts';
import type { Environment } from '../../src/engines/supervisor/adapter.ts';
import { userCache } from '../../src/lib/user-cache.ts';
import type { HandedOver } from './lib/parent.ts';
import { withoutEndSlashes } from '../../src/lib/text.ts';

export const ENGINES = ['node', 'python'] as const;
export type EngineName = (typeof ENGINES)[number];

export interface Settings {
  readonly engine: EngineName;
  /** The activator, without the credentials that its address may hold. */
  readonly activatorUrl: URL;
  /** `Authorization` for the activator, from the credentials in its address. */
  readonly authorization: string | undefined;
  /** The address the activator is told; the listening address when absent. */
  readonly publicUrl: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly heartbeatMs: number;
  /** `always`: what an endpoint had last, whatever its checksum is now; `never`: artifacts are read at each activation. */
  readonly cacheStrategy: 'always' | 'use_checksum' | 'never';
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
  /** Bytes that one installation may write. */
  readonly installBytes: number;
  readonly allowInstallScripts: boolean;
  /** `<naan>/<name>` of knowledge objects whose dependencies may be built from their sources. */
  readonly sourceBuilds: readonly string[];
  readonly permissions: boolean;
  readonly allowAddons: boolean;
  /** How long a `POST /endpoints` waits before it answers that the endpoint is in processing. */
  readonly activationWaitMs: number;
  /** The secret of this start, shared with what started the runtime. */
  readonly secret: string | undefined;
  readonly debug: boolean;
  /** What the package installer may see of the environment. */
  readonly installerEnvironment: Readonly<Record<string, string>>;
  /** The environment of the runtime; workers see little of it. */
  readonly environment: Environment;
}

/** A setting that cannot be used; the message names it and says what is allowed. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** Options of the whole process, with their defaults. */
export const COMMON = {
  KGRID_PROXY_ADAPTER_URL: 'http://localhost:8080',
  KGRID_PROXY_HEARTBEAT_INTERVAL: '30',
  KGRID_RUNTIME_PARENT: '',
  DEBUG: '',
} as const;

/** Behind `KGRID_NODE_` and `KGRID_PYTHON_`, with the defaults of both; one that an engine does not have is undefined. */
export const OF_ENGINES = {
  ENV_URL: { node: '', python: '' },
  ENV_PORT: { node: '3000', python: '5000' },
  HOST: { node: '127.0.0.1', python: '127.0.0.1' },
  LOAD_FROM_CACHE: { node: 'false', python: undefined },
  CACHE_STRATEGY: { node: undefined, python: 'use_checksum' },
  CACHE_DIR: { node: '', python: '' },
  CACHE_SIZE: { node: '2000', python: '10G' },
  CACHE_DAYS: { node: '30', python: '30' },
  EXECUTION_TIMEOUT: { node: '29', python: '29' },
  MEMORY_LIMIT: { node: '256', python: '512M' },
  CONCURRENCY: { node: '16', python: '8' },
  QUEUE: { node: '1000', python: '1000' },
  IDLE_TIMEOUT: { node: '300', python: '300' },
  IDLE_WORKERS: { node: '16', python: '16' },
  OUTPUT_LIMIT: { node: '20', python: '19M' },
  BODY_LIMIT: { node: '10', python: '11M' },
  INSTALL_TIMEOUT: { node: '300', python: '600' },
  INSTALL_SIZE: { node: undefined, python: '4G' },
  ALLOW_INSTALL_SCRIPTS: { node: 'false', python: undefined },
  ALLOW_SOURCE_BUILDS: { node: undefined, python: '' },
  PERMISSIONS: { node: 'true', python: undefined },
  ALLOW_ADDONS: { node: 'false', python: undefined },
  ACTIVATION_WAIT: { node: '5', python: '5' },
} as const;

/** The longest text that V8 can hold, rounded down. */
const MAX_TEXT_BYTES = 536e6;
/** What a size without a unit means, and by what K, M and G multiply. */
const UNITS = { node: { bare: 1e6, step: 1000 }, python: { bare: 1, step: 1024 } } as const;

/** @throws SettingsError. */
export function readSettings(environment: Environment, engine: EngineName): Settings {
  const nameOf = (suffix: keyof typeof OF_ENGINES): string => `KGRID_${engine.toUpperCase()}_${suffix}`;
  const given = (name: string): string => environment[name]?.trim() ?? '';
  const text = (suffix: keyof typeof OF_ENGINES): string => given(nameOf(suffix)) || (OF_ENGINES[suffix][engine] ?? '');
  const common = (name: keyof typeof COMMON): string => given(name) || COMMON[name];
  const check = (name: string, said: string, value: number, lowest: number, highest: number): number => {
    if (Number.isFinite(value) && value >= lowest && value <= highest) return value;
    throw new SettingsError(`${name} must be a number from ${lowest} to ${highest}, but is ${said}`);
  };
  const number = (suffix: keyof typeof OF_ENGINES, lowest: number, highest = Number.MAX_SAFE_INTEGER): number =>
    check(nameOf(suffix), text(suffix), Number(text(suffix)), lowest, highest);
  const { bare, step } = UNITS[engine];
  const megabyte = step ** 2;
  const size = (suffix: keyof typeof OF_ENGINES, lowest: number, highest = Infinity): number => {
    const said = text(suffix);
    const [, value = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([KMG]?)B?$/i.exec(said) ?? [];
    const bytes = unit === '' ? Number(value) * bare : Number(value) * step ** ('KMG'.indexOf(unit.toUpperCase()) + 1);
    if (value !== '' && bytes >= lowest && bytes <= highest) return Math.round(bytes);
    const range = highest === Infinity ? `at least ${lowest}` : `${lowest} to ${highest}`;
    throw new SettingsError(`${nameOf(suffix)} must be a size of ${range} bytes, such as 512M or 2G, but is ${said}`);
  };
  const flag = (suffix: keyof typeof OF_ENGINES): boolean => {
    const value = text(suffix).toLowerCase();
    if (['true', 'on', '1', 'yes'].includes(value)) return true;
    if (['', 'false', 'off', '0', 'no'].includes(value)) return false;
    throw new SettingsError(`${nameOf(suffix)} must be true or false, but is ${value}`);
  };
  const activator = address('KGRID_PROXY_ADAPTER_URL', common('KGRID_PROXY_ADAPTER_URL'));
  const heartbeat = common('KGRID_PROXY_HEARTBEAT_INTERVAL');
  const publicUrl = text('ENV_URL') === '' ? undefined : address(nameOf('ENV_URL'), text('ENV_URL'));
  const most = engine === 'node' ? MAX_TEXT_BYTES : Infinity;
  return Object.freeze({
    engine,
    activatorUrl: withoutCredentials(activator),
    authorization: basicAuthorization(activator),
    publicUrl: publicUrl && withoutEndSlashes(publicUrl.href),
    host: given(nameOf('HOST')) || defaultHost(engine, publicUrl),
    port: Math.floor(number('ENV_PORT', 0, 65535)),
    heartbeatMs: check('KGRID_PROXY_HEARTBEAT_INTERVAL', heartbeat, Number(heartbeat), 0, 86_400) * 1000,
    cacheStrategy: flag('LOAD_FROM_CACHE') ? 'always' : strategyOf(nameOf('CACHE_STRATEGY'), text('CACHE_STRATEGY')),
    cacheDir: resolve(text('CACHE_DIR') || userCache(`kgrid-${engine}-runtime`)),
    cacheBytes: size('CACHE_SIZE', 0),
    cacheAgeMs: number('CACHE_DAYS', 0) * 86_400_000,
    executionTimeoutMs: number('EXECUTION_TIMEOUT', 0.1, 86_400) * 1000,
    memoryLimitMb: Math.floor(size('MEMORY_LIMIT', 16 * megabyte) / megabyte),
    concurrency: Math.floor(number('CONCURRENCY', 1, 1000)),
    queue: Math.floor(number('QUEUE', 0)),
    idleTimeoutMs: number('IDLE_TIMEOUT', 0.1, 86_400) * 1000,
    idleWorkers: Math.floor(number('IDLE_WORKERS', 0)),
    outputLimit: size('OUTPUT_LIMIT', 1000, most),
    bodyLimit: size('BODY_LIMIT', 1000, most),
    installTimeoutMs: number('INSTALL_TIMEOUT', 1, 86_400) * 1000,
    installBytes: text('INSTALL_SIZE') === '' ? Infinity : size('INSTALL_SIZE', megabyte),
    allowInstallScripts: flag('ALLOW_INSTALL_SCRIPTS'),
    sourceBuilds: namesOf(nameOf('ALLOW_SOURCE_BUILDS'), text('ALLOW_SOURCE_BUILDS')),
    permissions: flag('PERMISSIONS'),
    allowAddons: flag('ALLOW_ADDONS'),
    activationWaitMs: number('ACTIVATION_WAIT', 0, 20) * 1000,
    secret: undefined,
    debug: common('DEBUG') !== '',
    installerEnvironment: forInstallers(environment),
    environment,
  });
}

/** Whether what started this is on standard input, and ends it by closing that. @throws SettingsError. */
export function endsWithStdin(environment: Environment): boolean {
  const parent = environment['KGRID_RUNTIME_PARENT']?.trim() ?? '';
  if (['', 'stdin'].includes(parent)) return parent === 'stdin';
  throw new SettingsError(`KGRID_RUNTIME_PARENT must be stdin or empty, but is ${parent}`);
}

/** With what the program that started the runtime said by its standard input. */
export const withHandedOver = (settings: Settings, { secret, installer }: HandedOver): Settings =>
  Object.freeze({
    ...settings,
    secret,
    installerEnvironment: { ...settings.installerEnvironment, ...forInstallers(installer) },
  });

const STRATEGIES = ['', 'always', 'use_checksum', 'never'] as const;

function strategyOf(name: string, said: string): Settings['cacheStrategy'] {
  const found = STRATEGIES.find((each) => each === said);
  if (found === undefined)
    throw new SettingsError(`${name} must be one of never, always, use_checksum, but is ${said}`);
  return found === '' ? 'use_checksum' : found;
}

function namesOf(name: string, said: string): string[] {
  const names = said.split(',').flatMap((each) => each.trim().replace(/^\/|\/$/g, '') || []);
  if (names.every((each) => /^[A-Za-z0-9.]+\/[A-Za-z0-9.]+$/.test(each))) return names;
  throw new SettingsError(`${name} must be a list such as naan/name,naan/other, but is ${said}`);
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** The python runtime has always listened to others where its address is on another machine. */
const defaultHost = (engine: EngineName, publicUrl: URL | undefined): string =>
  engine === 'python' && publicUrl !== undefined && !LOOPBACK.includes(publicUrl.hostname)
    ? '0.0.0.0'
    : OF_ENGINES.HOST[engine];

function address(name: string, text: string): URL {
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
