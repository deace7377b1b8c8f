import { constants } from 'node:fs';
import { lstat, open, readdir, realpath } from 'node:fs/promises';
import { dirname, join, posix, resolve, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { isPackagePath } from '../../knowledge-object/package-path.ts';
import { importRefused, ServiceError } from '../../lib/errors.ts';
import { escapeForMessage } from '../../lib/text.ts';
import { NOT_CONNECTED } from '../../lib/until-stopped.ts';
import { IGNORED } from '../unpacked/unpacked-folder.ts';
import { writeZip } from '../zip/write-zip.ts';
import { HttpClient, type Lookup, type OpenedLocation } from './http-client.ts';
import { isHttp } from './parse-manifest.ts';

/** Where whoever gave a manifest may have it lead. */
export interface LocationPolicy {
  readonly files: FilePolicy;
  readonly privateAddresses: boolean;
}

interface SourceOptions {
  readonly policy: LocationPolicy;
  readonly redirects: number;
  /** Aborted once the service stops. */
  readonly stopped?: AbortSignal | undefined;
  /** For tests. */
  readonly lookup?: Lookup | undefined;
}

/** Opens the locations of manifests under one policy. */
export class Sources implements AsyncDisposable {
  readonly #http: HttpClient;
  readonly #files: FilePolicy;

  constructor({ policy, redirects, lookup, stopped }: SourceOptions) {
    this.#files = policy.files;
    this.#http = new HttpClient({ privateAddresses: policy.privateAddresses, redirects, lookup, stopped });
  }

  /**
   * @param beside the manifest whose folder it may not leave; a folder there is given as a zip.
   * @throws importRefused and what the system or undici throws. The signal also ends the content of the web.
   */
  async open(url: URL, accept: string, signal: AbortSignal, beside?: URL): Promise<OpenedLocation> {
    const opened = isHttp(url)
      ? await this.#http.get(url, accept, signal)
      : {
          content: await (beside === undefined ? openFile(url, this.#files) : openBeside(url, beside, this.#files)),
          url,
        };
    // It may fail before its reader comes, who then finds it failed.
    opened.content.on('error', () => undefined);
    return opened;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#http[Symbol.asyncDispose]();
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'has a host that nobody knows',
  EAI_AGAIN: 'has a host that cannot be looked up now',
  ECONNREFUSED: 'has a host that does not answer there',
  EHOSTUNREACH: 'has a host that cannot be reached',
  ENETUNREACH: 'has a host that cannot be reached',
  ECONNRESET: 'broke off',
  UND_ERR_SOCKET: 'broke off',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'broke off',
  UND_ERR_CONNECT_TIMEOUT: 'has a host that does not answer',
  [NOT_CONNECTED]: 'was not connected before the service stopped',
};

/**
 * Why a location gave nothing, for whoever named it. What the system says of connections and files holds addresses
 * and paths of this host's network, so that it stays in the cause.
 * @param timeout the time limit that applied, in milliseconds.
 */
export function toReadableError(thrown: unknown, timeout: number): Error {
  if (thrown instanceof ServiceError) return thrown;
  const { name = '', code = '' } = thrown as { name?: string; code?: unknown };
  if (name === 'TimeoutError')
    return importRefused(`gave no whole answer within ${timeout / 1_000} s`, { cause: thrown });
  const known = typeof code === 'string' ? REASONS[code] : undefined;
  const isEncoding = typeof code === 'string' && /^(?:Z_|ERR__ERROR_)/.test(code);
  return importRefused(known ?? (isEncoding ? 'gave an answer that cannot be decoded' : 'cannot be read'), {
    cause: thrown,
  });
}

/** More than any package may have. */
const MAX_FILES = 20_000;

/** @throws importRefused, where a link leads out of the folder of the manifest too. */
async function openBeside(url: URL, manifest: URL, policy: FilePolicy): Promise<Readable> {
  const path = await allowedPath(pathOf(url), policy);
  const folder = await realpath(dirname(pathOf(manifest))).catch(refuse);
  if (path !== folder && !path.startsWith(folder.replace(/\/$/, '') + sep))
    throw importRefused('leaves the folder of its manifest');
  if (!(await lstat(path)).isDirectory()) return openFile(url, policy);
  const files = await filesIn(path);
  return writeZip(
    files.map((file) => ({
      path: file,
      content: async () => {
        const handle = await open(join(path, file), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
        return handle.createReadStream();
      },
    })),
  );
}

async function filesIn(root: string): Promise<string[]> {
  const files: string[] = [];
  const walk = async (folder: string): Promise<void> => {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true }).catch(refuse)) {
      const path = posix.join(folder, entry.name);
      if (IGNORED.has(entry.name)) continue;
      if (entry.isDirectory()) await walk(path);
      else if (!entry.isFile()) throw importRefused(`holds ${escapeForMessage(path)}, which is no regular file`);
      else if (!isPackagePath(path)) throw importRefused(`holds ${escapeForMessage(path)}, which no package may have`);
      else files.push(path);
      if (files.length > MAX_FILES) throw importRefused(`holds more than ${MAX_FILES} files`);
    }
  };
  await walk('');
  return files;
}

/** `within`: folders, by their path; none means that no file may be read. */
type FilePolicy = 'any' | { readonly within: readonly string[] };

/**
 * Opens a `file:` location.
 * @throws importRefused that never says more than the caller wrote, nor whether a file is there that may not be read.
 */
async function openFile(url: URL, policy: FilePolicy): Promise<Readable> {
  const path = await allowedPath(pathOf(url), policy);
  // Not blocking: to open a pipe would otherwise wait for a writer.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(refuse);
  if ((await handle.stat()).isFile()) return handle.createReadStream();
  await handle.close();
  throw importRefused('is not a file');
}

function pathOf(url: URL): string {
  try {
    return fileURLToPath(url);
  } catch (cause) {
    throw importRefused('is not the location of a file on this host', { cause });
  }
}

/** Its real path. @throws importRefused. */
async function allowedPath(path: string, policy: FilePolicy): Promise<string> {
  if (policy === 'any') return realpath(path).catch(refuse);
  const folders: string[] = [];
  for (const folder of policy.within) {
    const real = await realpath(folder).catch(() => undefined);
    if (real !== undefined) folders.push(real);
  }
  const isAllowed = (candidate: string): boolean =>
    folders.some((folder) => candidate.startsWith(folder.replace(/\/$/, '') + sep));
  const real = await realpath(path).catch((thrown: unknown) => {
    // Whether a file is missing is nobody's business where it could not be read anyway.
    const isInside = [...folders, ...policy.within].some((folder) => path.startsWith(resolve(folder) + sep));
    return isInside ? refuse(thrown) : undefined;
  });
  if (real === undefined || !isAllowed(real)) {
    throw importRefused('is a file location that is not allowed: allow its folder with --allow-file-manifests');
  }
  return real;
}

function refuse(cause: unknown): never {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const reason = code === 'ENOENT' || code === 'ENOTDIR' ? 'names no file' : 'cannot be read';
  throw importRefused(reason, { cause });
}
