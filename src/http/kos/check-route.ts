/** `POST /actuator/check`: what `kgrid check` says of a package, and what it would change, before it replaces anything. */
import { createHash } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { checkInProcess, type CheckLimits, type ProcessCheck } from '../../check/check-in-process.ts';
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { METADATA_FILE, readMetadata } from '../../knowledge-object/metadata.ts';
import { overloaded, ServiceError } from '../../lib/errors.ts';
import { FairQueue } from '../../lib/fair-queue.ts';
import { escapeSteering } from '../../lib/log.ts';
import type { Lifecycle } from '../../lifecycle.ts';
import { openArchive } from '../../shelf/archive/open-archive.ts';
import { packageRoot, type ImportTarget } from '../../shelf/import/import-zip.ts';
import type { PackageLimits } from '../../shelf/archive/archive.ts';
import { spool } from '../../shelf/import/spool.ts';
import { packageDigest, type HashedFile } from '../../shelf/package/package-content.ts';
import type { KoPackage, Shelf } from '../../shelf/shelf.ts';
import { auditNothing } from '../access/audit.ts';
import type { ChangeAuthor } from '../../shelf/change-author.ts';
import { authorOf } from '../access/audit.ts';
import { declare } from '../methods.ts';
import { aboutUpload, mustBeForm, uploadedPackage } from './import-zip.ts';

export interface CheckRouteOptions {
  readonly target: ImportTarget;
  readonly lifecycle: Pick<Lifecycle, 'left'>;
  /** That this service starts itself: code is tried in them too. */
  readonly runtimes: readonly string[];
}

/** Milliseconds that the check of a package may take: it comes behind all else on the cores. */
const TIMEOUT_MS = 120_000;
/** Packages that wait or are checked. */
const MOST = 4;

export function checkRoute(app: FastifyInstance, { target, lifecycle, runtimes }: CheckRouteOptions): void {
  const turns = new FairQueue({ perKey: 1 });
  let present = 0;

  const check = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    // Nothing is changed by it.
    auditNothing(request);
    if (present >= MOST) {
      void reply.header('connection', 'close');
      throw overloaded('Other packages are being checked; try again later', 10);
    }
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const signal = AbortSignal.any([gone.signal, lifecycle.left]);
    present++;
    try {
      const upload = Readable.from(uploadedPackage(request, target.limits.zipped));
      await using file = await spool(target.spool, upload, target.limits.zipped);
      const found = await turns.run('check', () =>
        checked(target, file.path, { timeout: TIMEOUT_MS, runtimes, signal }, authorOf(request)),
      );
      void reply.header('cache-control', 'no-store').type('application/json; charset=utf-8');
      return escapeSteering(JSON.stringify(found));
    } catch (thrown) {
      // What is left of the upload is not read.
      void reply.header('connection', 'close');
      throw aboutUpload(thrown);
    } finally {
      present--;
    }
  };
  declare(app, '/actuator/check', { POST: { access: 'shelf-write', options: mustBeForm, handler: check } });
}

async function checked(
  target: ImportTarget,
  archive: string,
  { signal, ...checks }: CheckLimits & { readonly signal: AbortSignal },
  author: ChangeAuthor,
): Promise<object> {
  const { shelf, limits } = target;
  let content;
  try {
    content = await uploadedContent(archive, limits, shelf.defaultNaan);
  } catch (thrown) {
    // What an import would say too.
    if (!(thrown instanceof ServiceError) || thrown.status >= 500) throw thrown;
    return { ko: null, digest: null, present: null, ...asFound({ failure: thrown.message }), differences: [] };
  }
  if (content.id !== undefined) author.requireMayChange(content.id);
  const present = await presentPackage(shelf, content.id);
  try {
    const differences = present === undefined ? [] : await differencesFrom(present, content);
    const found = asFound(await inFolder(target.spool, (folder) => checkInProcess(archive, folder, checks, signal)));
    return {
      ko: keyOf(content.id),
      digest: `sha256:${content.digest}`,
      present: present === undefined ? null : { digest: `sha256:${present.entry.digest}` },
      ...found,
      differences,
    };
  } finally {
    present?.release();
  }
}

/** `ok`: nothing keeps it from being imported and run. */
function asFound(check: ProcessCheck): object {
  if ('failure' in check) {
    const message = check.failure;
    return {
      ok: false,
      generation: null,
      findings: [{ severity: 'problem', file: '', message }],
      examples: null,
      untried: [],
    };
  }
  const { ok = false, generation = null, findings = [], examples = null, untried = [], refused } = check.found;
  return { ok, generation, findings, examples, untried, ...(refused === true ? { refused } : {}) };
}

/** A folder that goes with the work, whatever was put there. */
async function inFolder(spoolFolder: string, work: (folder: string) => Promise<ProcessCheck>): Promise<ProcessCheck> {
  const folder = join(spoolFolder, `check-${crypto.randomUUID()}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    const done = await work(folder);
    return 'failure' in done ? { failure: `The check did not come to its end: ${done.failure}` } : done;
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** What a package that was uploaded holds, by the digests of its files, and in what it differs from the one on the shelf. */
interface UploadedContent {
  /** Undefined where its metadata do not say it. */
  readonly id: KoId | undefined;
  /** sha256, as hex. */
  readonly digest: string;
  readonly files: readonly HashedFile[];
}

interface ContentDifference {
  readonly path: string;
  readonly change: 'added' | 'removed' | 'changed';
}

/** Nothing of it is written. @throws importRefused; packageTooLarge. */
async function uploadedContent(archive: string, limits: PackageLimits, naan: string): Promise<UploadedContent> {
  await using opened = await openArchive(archive, limits);
  const root = packageRoot(opened);
  const files: HashedFile[] = [];
  let metadata: string | undefined;
  for await (const { path, size, content } of opened.unpack()) {
    const name = path.slice(root.length);
    const isMetadata = name === METADATA_FILE && size <= limits.metadata;
    const { sha256, text } = await hashed(content, isMetadata);
    if (isMetadata) metadata = text;
    files.push({ path: name, size, sha256 });
  }
  const id = metadata === undefined ? undefined : readMetadata(metadata, naan).metadata?.id;
  return { id, digest: packageDigest(files), files };
}

/** By path. */
async function differencesFrom(present: KoPackage, { files }: UploadedContent): Promise<ContentDifference[]> {
  const found: ContentDifference[] = [];
  const uploaded = new Map(files.map((file) => [file.path, file]));
  for (const [path, { size }] of present.files) {
    const file = uploaded.get(path);
    if (file === undefined) found.push({ path, change: 'removed' });
    else if (file.size !== size || file.sha256 !== (await digestIn(present, path)))
      found.push({ path, change: 'changed' });
  }
  for (const path of uploaded.keys()) if (!present.files.has(path)) found.push({ path, change: 'added' });
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The package of that id, held open. */
const presentPackage = (shelf: Shelf, id: KoId | undefined): Promise<KoPackage | undefined> =>
  id === undefined ? Promise.resolve(undefined) : shelf.open(id);

const keyOf = (id: KoId | undefined): string | null => (id === undefined ? null : koKey(id));

async function digestIn(pkg: KoPackage, path: string): Promise<string> {
  return pkg.digestOf(path) ?? (await hashed(await pkg.stream(path), false)).sha256;
}

async function hashed(content: Readable, keepsText: boolean): Promise<{ sha256: string; text: string }> {
  const hash = createHash('sha256');
  const kept: Buffer[] = [];
  for await (const chunk of content as AsyncIterable<Buffer>) {
    hash.update(chunk);
    if (keepsText) kept.push(chunk);
  }
  return { sha256: hash.digest('hex'), text: Buffer.concat(kept).toString() };
}
