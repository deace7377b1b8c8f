import { LIMIT_SETTINGS } from './limit-settings.ts';

/**
 * All settings, in one table: `--help`, the reading of options and variables, and the check of
 * `docs/settings.md` are made from it. Names of the environment stand nowhere else.
 */
export interface Setting {
  /** `--<option>`. */
  readonly option: string;
  readonly env: string;
  /** Variables of the original activator that mean the same. */
  readonly aliases?: readonly string[];
  /** What a value looks like. */
  readonly kind: 'text' | 'port' | 'duration' | 'size' | 'count' | 'flag' | 'choice' | 'list';
  readonly choices?: readonly string[];
  /** In the form in which it is written; absent: none. */
  readonly default?: string;
  readonly group: 'Service' | 'Shelf' | 'Access' | 'Limits' | 'Engines' | 'Logs';
  readonly help: string;
}

export const SETTINGS = [
  {
    option: 'port',
    env: 'KGRID_PORT',
    aliases: ['SERVER_PORT'],
    kind: 'port',
    default: '8080',
    group: 'Service',
    help: 'Port to listen on; 0 picks a free one',
  },
  {
    option: 'host',
    env: 'KGRID_HOST',
    aliases: ['SERVER_ADDRESS'],
    kind: 'text',
    default: '127.0.0.1',
    group: 'Service',
    help: 'Address to listen on; 0.0.0.0 is every IPv4 address of the machine',
  },
  {
    option: 'profile',
    env: 'KGRID_PROFILE',
    aliases: ['SPRING_PROFILES_ACTIVE'],
    kind: 'choice',
    choices: ['dev', 'secure'],
    group: 'Service',
    help: 'dev opens everything; secure asks for a login (default: secure once a shelf is configured)',
  },
  {
    option: 'public-url',
    env: 'KGRID_PUBLIC_URL',
    kind: 'text',
    group: 'Service',
    help: 'Address under which clients reach the service, for links',
  },
  {
    option: 'trust-proxy',
    env: 'KGRID_TRUST_PROXY',
    kind: 'flag',
    default: 'false',
    group: 'Service',
    help: 'Believe the X-Forwarded-* headers of a proxy in front',
  },
  {
    option: 'shutdown-grace',
    env: 'KGRID_SHUTDOWN_GRACE',
    kind: 'duration',
    default: '10s',
    group: 'Service',
    help: 'How long calls in progress may take after SIGTERM',
  },
  {
    option: 'shelf',
    env: 'KGRID_SHELF',
    aliases: ['KGRID_SHELF_CDOSTORE_URL', 'KGRID_SHELF_LOCATION'],
    kind: 'text',
    group: 'Shelf',
    help: 'Folder of the knowledge objects (default: a working copy of the examples)',
  },
  {
    option: 'manifest',
    env: 'KGRID_MANIFEST',
    aliases: ['KGRID_SHELF_MANIFEST'],
    kind: 'list',
    group: 'Shelf',
    help: 'Manifest to import at the start, a file or URL; may repeat',
  },
  {
    option: 'allow-file-manifests',
    env: 'KGRID_ALLOW_FILE_MANIFESTS',
    kind: 'list',
    group: 'Shelf',
    help: 'Folder from which manifests posted over HTTP may import in the secure profile; may repeat',
  },
  {
    option: 'allow-private-manifests',
    env: 'KGRID_ALLOW_PRIVATE_MANIFESTS',
    kind: 'flag',
    default: 'false',
    group: 'Shelf',
    help: 'Let manifests posted over HTTP import from private and loopback addresses in the secure profile',
  },
  {
    option: 'user',
    env: 'KGRID_USER',
    aliases: ['SPRING_SECURITY_USER_NAME'],
    kind: 'text',
    group: 'Access',
    help: 'Name for HTTP Basic logins',
  },
  {
    option: 'password',
    env: 'KGRID_PASSWORD',
    aliases: ['SPRING_SECURITY_USER_PASSWORD'],
    kind: 'text',
    group: 'Access',
    help: 'Password for HTTP Basic logins; better as variable, since options show in process lists',
  },
  {
    option: 'oauth-issuer',
    env: 'KGRID_OAUTH_ISSUER',
    kind: 'text',
    group: 'Access',
    help: 'Issuer of OAuth 2.0 bearer tokens, as its URL',
  },
  {
    option: 'oauth-audience',
    env: 'KGRID_OAUTH_AUDIENCE',
    kind: 'text',
    group: 'Access',
    help: 'Audience that a token must name',
  },
  {
    option: 'oauth-scope',
    env: 'KGRID_OAUTH_SCOPE',
    kind: 'text',
    group: 'Access',
    help: 'Scope that a token must have to write, activate or register',
  },
  {
    option: 'secure-execution',
    env: 'KGRID_SECURE_EXECUTION',
    kind: 'flag',
    default: 'false',
    group: 'Access',
    help: 'Ask for a login for calls of endpoints too',
  },
  {
    option: 'cors',
    env: 'KGRID_CORS',
    aliases: ['CORS_URL'],
    kind: 'list',
    group: 'Access',
    help: 'Origin whose pages may write and activate, such as https://app.example.org; may repeat',
  },
  ...LIMIT_SETTINGS,
  {
    option: 'sandboxes',
    env: 'KGRID_SANDBOXES',
    kind: 'count',
    default: '1',
    group: 'Engines',
    help: 'Processes that run well-behaved javascript; more use more cores',
  },
  {
    option: 'runtimes',
    env: 'KGRID_RUNTIMES',
    kind: 'list',
    default: 'node,python',
    group: 'Engines',
    help: 'Runtimes to start and supervise: node, python, or none',
  },
  {
    option: 'property',
    env: 'KGRID_PROPERTY',
    kind: 'list',
    group: 'Engines',
    help: 'name=value that javascript reads by context.getProperty(name); may repeat',
  },
  {
    option: 'log-level',
    env: 'KGRID_LOG_LEVEL',
    kind: 'choice',
    choices: ['debug', 'info', 'warn', 'error', 'silent'],
    default: 'info',
    group: 'Logs',
    help: 'What is logged',
  },
  {
    option: 'log-format',
    env: 'KGRID_LOG_FORMAT',
    kind: 'choice',
    choices: ['auto', 'text', 'json'],
    default: 'auto',
    group: 'Logs',
    help: 'auto: text on a terminal, JSON elsewhere',
  },
] as const satisfies readonly Setting[];

export type OptionName = (typeof SETTINGS)[number]['option'];
