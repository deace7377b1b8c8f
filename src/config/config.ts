/** The configuration of the service: grouped, typed, and frozen once it is read. */
import { resolve } from 'node:path';
import { WALLS_MODES, type WallsMode } from '../confinement/walls.ts';
import { type Isolation, ISOLATIONS } from '../engines/javascript/process-groups.ts';
import type { NetworkPermission, NetworkPermissions } from '../engines/network/permission.ts';
import { RUNTIME_NAMES } from '../engines/table.ts';
import { ANONYMOUS_LEVELS, type AnonymousLevel } from '../identity/identity.ts';
import type { Grants } from '../identity/grants.ts';
import type { OauthOptions } from '../identity/login.ts';
import { VALIDATION_MODES, type ValidationMode } from '../knowledge-object/descriptors/deployment.ts';
import { startRefused } from '../lib/errors.ts';
import { type HostPort, isSameHostPort, parseHostPort, STANDARD_PORT } from '../lib/host-port.ts';
import { Secret } from '../lib/secret.ts';
import type { PackageLimits } from '../shelf/archive/archive.ts';
import { oauthOf } from './oauth-settings.ts';
import { type ProxyTrust, toProxyTrust } from './proxy-trust.ts';
import { type ChangedSetting, changedSettings, type RawSettings } from './read-settings.ts';
import { tlsOf, type TlsFiles } from './tls-settings.ts';
import { RETIRED_SETTINGS } from './retired-settings.ts';
import { readKey, readPassword } from './secret-file.ts';
import {
  refuse,
  type Setting,
  SettingReader,
  toChoice,
  toCount,
  toDuration,
  toFlag,
  toHost,
  toKoName,
  toNaan,
  toNumber,
  toPause,
  toPort,
  toSize,
  toUrl,
} from './setting.ts';
import { type OptionName, TAKEN_SETTINGS } from './settings.ts';

/** HTTP Basic. */
export interface BasicLogin {
  readonly user: string;
  readonly password: Secret;
  /** Reads it again, where it stands in a file. @throws startRefused. */
  readonly again?: () => Secret;
}

export interface Config {
  readonly port: number;
  readonly host: string;
  readonly profile: 'dev' | 'secure';
  readonly publicUrl: string | undefined;
  /** Tools for assistants: undefined where there are none. */
  readonly mcp: { readonly mostTools: number } | undefined;
  /** Undefined where no proxy is believed. */
  readonly trustProxy: ProxyTrust | undefined;
  /** Milliseconds. */
  readonly drain: number;
  readonly shutdownGrace: number;
  /** Its location; undefined: the working copy of the examples. */
  readonly shelf: string | undefined;
  /** Name of the activators that share a database. */
  readonly fleet: string;
  /** What a start activates. */
  readonly startsWith: 'shelf' | 'restore';
  /** Path of the trust policy. */
  readonly trustPolicy: string | undefined;
  /** Reads the password of the database; undefined where no file is named. */
  readonly shelfPassword: (() => string) | undefined;
  /** Folder of what the activator keeps for itself; undefined: with the shelf. */
  readonly state: string | undefined;
  /** How much is kept of what is deleted or replaced. */
  /** Nothing is written into the shelf folder. */
  readonly readOnly: boolean;
  readonly keepRemoved: { readonly count: number; readonly age: number };
  /** Milliseconds in which every package is read once; 0 reads none. */
  readonly scrub: number;
  readonly defaultNaan: string;
  /** What must be the same on all activators that share a shelf, as it was written, by option. */
  readonly agreed: Readonly<Record<string, string>>;
  /** Those that are not as by default, as they may be shown. */
  readonly changed: readonly ChangedSetting[];
  /** What warns of settings that go with the next version. */
  readonly retired: readonly string[];
  readonly manifests: readonly string[];
  readonly manifestRequired: boolean;
  readonly fileManifests: readonly string[];
  readonly privateManifests: boolean;
  readonly basic: BasicLogin | undefined;
  readonly oauth: OauthOptions | undefined;
  /** Where the service speaks TLS itself. */
  readonly tls: TlsFiles | undefined;
  /** What client certificates give, by common name. */
  readonly certificates: ReadonlyMap<string, Grants> | undefined;
  /** Key of call tokens; undefined: a key of this process alone. */
  readonly callKey: Buffer | undefined;
  /** What everybody may. */
  readonly anonymous: AnonymousLevel;
  readonly cors: readonly string[];
  /** Names by which browsers reach the service, beside those that it knows. */
  readonly allowedHosts: readonly string[];
  /** Who may call CDS services, and what these may read and refuse. */
  readonly cds: {
    readonly clients: readonly string[];
    readonly servers: readonly string[];
    /** Milliseconds. */
    readonly deadline: number;
    readonly strict: boolean;
  };
  readonly limits: Limits;
  readonly sandboxes: number;
  /** Which knowledge objects share the processes of javascript. */
  readonly isolation: Isolation;
  readonly runtimes: readonly string[];
  /** Megabytes of a worker, by engine, where the operator sets them. */
  readonly workerMemory: Readonly<Record<string, number>>;
  readonly walls: WallsMode;
  /** The functions that libraries of KOs export are endpoints, where these deploy none. */
  readonly servesLibraries: boolean;
  /** `<naan>/<name>` of KOs whose dependencies may be built from their sources. */
  readonly sourceBuilds: readonly string[];
  /** What KOs may reach over the network. */
  readonly network: NetworkPermissions;
  /** `<naan>/<name>` of KOs whose code may start other programs. */
  readonly processes: readonly string[];
  /** `<naan>/<name>` of KOs whose code may load native addons. */
  readonly addons: readonly string[];
  readonly properties: Readonly<Record<string, string>>;
  /** What becomes of inputs and results that break their schemas; `inputs` undefined: as knowledge objects say. */
  readonly validate: { readonly inputs: ValidationMode | undefined; readonly outputs: 'off' | 'log' };
  readonly logLevel: string;
  readonly logFormat: 'auto' | 'text' | 'json';
  /** Whether each call leaves a line in the log. */
  readonly logExecutions: boolean;
  /** Whether these lines hold the inputs. */
  readonly logInputs: boolean;
  /** What errors of code say is told, and not only their type and place. */
  readonly logMessages: boolean;
  /** Answers tell how they came about. */
  readonly provenance: boolean;
  /** Endpoints with series of their own. */
  readonly metricsEndpoints: number;
  readonly openMetrics: boolean;
}

const MILLISECONDS_OF_DAY = 86_400_000;

/** @throws startRefused for a value that is not allowed. */
export function toConfig(raw: RawSettings): Config {
  const read = new SettingReader(raw);
  const shelf = read.text('shelf');
  const profile: Config['profile'] =
    read.optional('profile', (value, source) => toChoice(value, source, ['dev', 'secure'])) ??
    (shelf === undefined ? 'dev' : 'secure');
  const servesLibraries =
    read.optional('serve-libraries', (value, source) => toChoice(value, source, ['on', 'off'])) ??
    (profile === 'dev' ? 'on' : 'off');
  const mcp =
    read.optional('mcp', (value, source) => toChoice(value, source, ['on', 'off'])) ??
    (profile === 'dev' ? 'on' : 'off');
  const config: Config = {
    port: read.as('port', toPort),
    host: read.text('host') ?? '127.0.0.1',
    profile,
    publicUrl: read.optional('public-url', toUrl),
    mcp: mcp === 'on' ? { mostTools: read.as('mcp-tools', toCount) } : undefined,
    trustProxy: read.optional('trust-proxy', toProxyTrust),
    drain: read.as('drain', toPause),
    shutdownGrace: read.as('shutdown-grace', toDuration),
    shelf,
    fleet: read.as('fleet', (value) => value),
    startsWith: read.as('start', (value, source) => toChoice(value, source, ['shelf', 'restore'])),
    trustPolicy: read.text('trust-policy'),
    shelfPassword: shelfPasswordOf(read),
    state: read.text('state'),
    readOnly: read.as('read-only', toFlag),
    keepRemoved: {
      count: read.as('keep-removed', toNumber),
      age: read.as('keep-removed-days', toNumber) * MILLISECONDS_OF_DAY,
    },
    scrub: read.as('scrub-days', toNumber) * MILLISECONDS_OF_DAY,
    defaultNaan: read.as('default-naan', toNaan),
    agreed: { ...agreedOf(read), 'serve-libraries': servesLibraries },
    changed: changedSettings(raw),
    retired: retiredOf(read),
    manifests: read.list('manifest'),
    manifestRequired: manifestRequiredOf(read),
    fileManifests: read.list('allow-file-manifests').map((folder) => resolve(folder)),
    privateManifests: read.as('allow-private-manifests', toFlag),
    basic: basicOf(read),
    oauth: oauthOf(read),
    ...tlsOf(read),
    callKey: read.optional('call-key-file', readKey),
    anonymous: anonymousOf(read, profile),
    // The original's default: reads and calls are open to every origin anyway, and nothing else may be.
    cors: read
      .list('cors')
      .filter((origin) => origin !== '*')
      .map((origin) => toUrl(origin, `an origin of ${read.source('cors')}`)),
    allowedHosts: read.list('allow-host').map((name) => toHost(name.trim(), `a name of ${read.source('allow-host')}`)),
    cds: {
      clients: read.list('cds-clients'),
      servers: read.list('cds-fetch'),
      deadline: read.as('cds-deadline', toDuration),
      strict: read.as('cds-strict', toFlag),
    },
    limits: limitsOf(read),
    sandboxes: read.as('sandboxes', toCount),
    isolation: read.as('isolation', (value, source) => toChoice(value, source, ISOLATIONS)),
    runtimes: runtimesOf(
      read
        .list('runtimes')
        .flatMap((names) => names.split(','))
        .map((name) => name.trim()),
      read.source('runtimes'),
    ),
    workerMemory: toWorkerMemory(read.list('worker-memory'), read.source('worker-memory')),
    servesLibraries: servesLibraries === 'on',
    sourceBuilds: read.koNames('allow-source-builds'),
    network: toNetworkPermissions(read.list('allow-network'), read.source('allow-network'), read.as('port', toPort)),
    processes: read.koNames('allow-processes'),
    addons: read.koNames('allow-addons'),
    walls: read.as('walls', (value, source) => toChoice(value, source, WALLS_MODES)),
    validate: {
      inputs: read.isGiven('validate-inputs')
        ? read.as('validate-inputs', (value, source) => toChoice(value, source, VALIDATION_MODES))
        : undefined,
      outputs: read.as('validate-outputs', (value, source) => toChoice(value, source, ['off', 'log'])),
    },
    properties: propertiesOf(read.list('property'), read.source('property')),
    logLevel: read.as('log-level', (value, source) =>
      toChoice(value, source, ['debug', 'info', 'warn', 'error', 'silent']),
    ),
    logFormat: read.as('log-format', (value, source) => toChoice(value, source, ['auto', 'text', 'json'])),
    logExecutions: read.as('log-executions', toFlag),
    logInputs: logInputsOf(read),
    logMessages: read.as('log-messages', toFlag),
    provenance: read.as('provenance', toFlag),
    metricsEndpoints: read.as('metrics-endpoints', toNumber),
    openMetrics: read.as('open-metrics', toFlag),
  };
  return Object.freeze(config);
}

/** `--secure-execution` is the older word for readers; in dev it never closed anything. */
function anonymousOf(read: SettingReader, profile: Config['profile']): AnonymousLevel {
  const isSecure = read.as('secure-execution', toFlag);
  const level = read.optional('anonymous', (value, source) => toChoice(value, source, ANONYMOUS_LEVELS));
  if (level === undefined) return profile === 'dev' ? 'operator' : isSecure ? 'reader' : 'caller';
  if (isSecure && (level === 'operator' || level === 'caller'))
    throw startRefused(
      `${read.source('secure-execution')} asks for a login for calls, and ${read.source('anonymous')} ${level} for none: leave one out`,
    );
  return level;
}

/** Settings that decide what an answer is. */
function agreedOf(read: SettingReader): Readonly<Record<string, string>> {
  const options = (TAKEN_SETTINGS as readonly (Setting & { option: OptionName })[]).filter(
    ({ option, group }) => group === 'Limits' || option === 'default-naan',
  );
  return Object.fromEntries(options.map(({ option }) => [option, read.text(option) ?? 'none']));
}

const retiredOf = (read: SettingReader): readonly string[] =>
  RETIRED_SETTINGS.filter(({ option }) => read.isGiven(option)).map(
    ({ option, instead }) => `${read.source(option)} goes with the next version: ${instead}`,
  );

/** It may change while the service runs. @throws startRefused where there is none now. */
function shelfPasswordOf(read: SettingReader): (() => string) | undefined {
  const path = read.text('shelf-password-file');
  if (path === undefined) return undefined;
  const again = (): string => readPassword(path, read.source('shelf-password-file'));
  again();
  return again;
}

function manifestRequiredOf(read: SettingReader): boolean {
  const required = read.as('manifest-required', toFlag);
  if (required && read.list('manifest').length === 0)
    throw startRefused(`${read.source('manifest-required')} needs a manifest: give --manifest`);
  return required;
}

function logInputsOf(read: SettingReader): boolean {
  const wanted = read.as('log-inputs', toFlag);
  if (wanted && !read.as('log-executions', toFlag))
    throw startRefused(`${read.source('log-inputs')} adds to the lines of --log-executions: give that too`);
  return wanted;
}

function basicOf(read: SettingReader): Config['basic'] {
  const user = read.text('user');
  const given = read.text('password');
  const path = read.text('password-file');
  const inFile = read.optional('password-file', readPassword);
  if (given !== undefined && inFile !== undefined) {
    throw startRefused(`${read.source('password')} and ${read.source('password-file')} are both given: leave one out`);
  }
  const password = given ?? inFile;
  if (user === undefined && password === undefined) return undefined;
  if (user === undefined || password === undefined) {
    throw startRefused(
      `${user === undefined ? 'KGRID_USER' : 'KGRID_PASSWORD'} is missing: a login needs both KGRID_USER and KGRID_PASSWORD`,
    );
  }
  const again = (): Secret => new Secret(readPassword(path ?? '', read.source('password-file')));
  return { user, password: new Secret(password), ...(path === undefined ? {} : { again }) };
}

function runtimesOf(names: readonly string[], source: string): Config['runtimes'] {
  if (names.length === 1 && names[0] === 'none') return [];
  const unknown = names.find((name) => !RUNTIME_NAMES.includes(name));
  if (unknown === undefined) return names;
  throw startRefused(`${source} is '${unknown}', but must be any of ${RUNTIME_NAMES.join(', ')}, or none alone`);
}

function propertiesOf(pairs: readonly string[], source: string): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw startRefused(`${source} is '${pair}', but must be name=value`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** How much of everything is allowed. */
interface Limits {
  /** Bytes. */
  readonly package: number;
  readonly unpacked: number;
  readonly file: number;
  readonly entries: number;
  readonly metadata: number;
  readonly descriptor: number;
  readonly body: number;
  readonly result: number;
  readonly isolateMemory: number;
  /** Milliseconds. */
  readonly execution: number;
  readonly runtime: number;
  readonly endpoint: number;
  readonly activation: number;
  readonly runtimeExpiry: number;
  readonly request: number;
  readonly upload: number;
  readonly queue: number;
  readonly held: number;
  /** Requests a second, and calls at once, of a principal; 0: any number. */
  readonly rate: number;
  readonly calls: number;
  readonly batchSpool: number;
  readonly batchIdle: number;
  readonly connections: number;
  readonly audit: number;
}

function limitsOf(read: SettingReader): Limits {
  const packageSize = read.as('max-package', toSize);
  const body = read.as('max-body', toSize);
  return {
    package: packageSize,
    unpacked: follows(read, 'max-unpacked', 3 * packageSize),
    file: follows(read, 'max-file', packageSize),
    entries: read.as('max-entries', toCount),
    metadata: read.as('max-metadata', toSize),
    descriptor: read.as('max-descriptor', toSize),
    body,
    result: follows(read, 'max-result', 2 * body),
    isolateMemory: read.as('isolate-memory', (value, source) =>
      atLeast(toSize(value, source), 8 * 2 ** 20, value, source, '8MB'),
    ),
    execution: read.as('execution-timeout', toDuration),
    runtime: read.as('runtime-timeout', toDuration),
    endpoint: read.as('max-endpoint-timeout', toDuration),
    activation: read.as('activation-timeout', toDuration),
    runtimeExpiry: read.as('runtime-expiry', toDuration),
    request: read.as('request-timeout', toDuration),
    upload: read.as('upload-timeout', toDuration),
    queue: read.as('queue-limit', toCount),
    held: read.as('max-held', toSize),
    rate: read.as('max-rate', toNumber),
    calls: read.as('max-calls', toNumber),
    batchSpool: read.as('max-batch-spool', toSize),
    batchIdle: read.as('batch-idle', toDuration),
    connections: read.as('max-connections', toCount),
    audit: read.as('max-audit', (value, source) => atLeast(toSize(value, source), 64 * 2 ** 10, value, source, '64KB')),
  };
}

/** Where nobody sets it, it grows with the setting that it belongs to. */
function follows(read: SettingReader, option: 'max-unpacked' | 'max-file' | 'max-result', bytes: number): number {
  const size = read.as(option, toSize);
  return read.isGiven(option) ? size : Math.max(size, bytes);
}

function atLeast(bytes: number, least: number, value: string, source: string, words: string): number {
  if (bytes >= least) return bytes;
  throw startRefused(`${source} is '${value}', but must be at least ${words}`);
}

/** What a package may have, of all that is limited. */
export const packageLimitsOf = (limits: Config['limits']): PackageLimits => ({
  zipped: limits.package,
  unpacked: limits.unpacked,
  file: limits.file,
  entries: limits.entries,
  metadata: limits.metadata,
  descriptor: limits.descriptor,
});

// Reads what `--allow-network` says: `naan/name`, `naan/name=host`, `naan/name=host:port` or `naan/name=*:port`.

const NONE: NetworkPermission = { any: false, hosts: [], ports: [] };

/** Several for one knowledge object count together. @param ownPort of the service. @throws startRefused. */
function toNetworkPermissions(values: readonly string[], source: string, ownPort: number): NetworkPermissions {
  const permissions = new Map<string, NetworkPermission>();
  for (const value of values.flatMap((each) => each.split(',')).map((each) => each.trim())) {
    const at = value.indexOf('=');
    const name = nameOf(at < 0 ? value : value.slice(0, at), value, source);
    const before = permissions.get(name) ?? NONE;
    const permission = at < 0 ? { ...before, any: true } : withHost(before, value.slice(at + 1), value, source);
    if (permission.ports.includes(ownPort))
      throw startRefused(`${source} is '${value}', but that is the port of this service: give one of them another`);
    permissions.set(name, permission);
  }
  return permissions;
}

function nameOf(name: string, value: string, source: string): string {
  try {
    return toKoName(name, source);
  } catch {
    throw refuse(source, value, 'naan/name, naan/name=host or naan/name=host:port');
  }
}

function withHost(before: NetworkPermission, written: string, value: string, source: string): NetworkPermission {
  const anyHost = /^\*:(\d{1,5})$/.exec(written)?.[1];
  if (anyHost !== undefined) {
    const target = parseHostPort(`any:${anyHost}`);
    if (target === undefined) throw refuse(source, value, 'a port from 1 to 65535 behind *:');
    return { ...before, ports: [...new Set([...before.ports, target.port])] };
  }
  const target = parseHostPort(written, STANDARD_PORT);
  if (target === undefined) throw refuse(source, value, allowedFor(written));
  return { ...before, hosts: withoutTwins([...before.hosts, target]) };
}

const withoutTwins = (hosts: readonly HostPort[]): HostPort[] =>
  hosts.filter((each, index) => hosts.findIndex((other) => isSameHostPort(each, other)) === index);

/** What to write instead of a host that is none. */
function allowedFor(written: string): string {
  if (/^[a-z][a-z\d+.-]{0,20}:\/\//i.test(written)) return 'a host and a port, without a scheme and a path';
  if (/^\*?$/.test(written)) return 'naan/name alone for any public host, or naan/name=*:port for a port of every host';
  if (written.includes('*')) return 'a whole host: name each one that it may reach, in an option of its own';
  if (written.includes('/')) return 'one host: ranges of addresses and paths cannot be allowed';
  if (written.split(':').length > 2)
    return 'a host and a port, an IPv6 address in brackets and without a zone: [2001:db8::1]:443';
  if (/:\d*$/.test(written)) return 'a host with a port from 1 to 65535';
  return 'a host such as api.example.org or api.example.org:443';
}

// Reads what `--worker-memory` says: `512MB` for every engine whose code runs in workers, or `python=2GB` for one.

const MB = 2 ** 20;
/** Less than an interpreter takes by itself. */
const LEAST_MB = 64;

/** Gives megabytes by engine; what one engine has of its own wins. @throws startRefused. */
export function toWorkerMemory(values: readonly string[], source: string): Readonly<Record<string, number>> {
  const sizes = values.flatMap((each) => each.split(',')).map((each) => toEngineSize(each.trim(), source));
  return Object.fromEntries(
    sizes
      .filter(({ engine }) => engine === undefined)
      .flatMap(({ mb }) => RUNTIME_NAMES.map((name) => [name, mb]))
      .concat(sizes.flatMap(({ engine, mb }) => (engine === undefined ? [] : [[engine, mb]]))),
  ) as Record<string, number>;
}

function toEngineSize(value: string, source: string): { readonly engine: string | undefined; readonly mb: number } {
  const [size = '', engine] = value.split('=', 2).reverse();
  if (engine !== undefined && !RUNTIME_NAMES.includes(engine))
    throw refuse(
      source,
      value,
      `a size, or one behind the name of an engine: ${RUNTIME_NAMES.map((name) => `${name}=512MB`).join(', ')}`,
    );
  const mb = Math.floor(toSize(size, source) / MB);
  if (mb < LEAST_MB) throw refuse(source, value, `at least ${LEAST_MB}MB`);
  return { engine, mb };
}
