/** `POST /actuator/check`: what `kgrid check` says of a package, and what it would change, before it replaces anything. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Lifecycle } from '../../lifecycle.ts';
import { overloaded, ServiceError } from '../../lib/errors.ts';
import { escapeSteering } from '../../lib/log.ts';
import { FairQueue } from '../../lib/fair-queue.ts';
import type { ImportTarget } from '../../shelf/import/import-zip.ts';
import { spool } from '../../shelf/import/spool.ts';
import { auditNothing } from '../access/audit.ts';
import { declare } from '../methods.ts';
import { checkInProcess } from '../../check/check-in-process.ts';
import type { ProcessCheck } from '../../check/check-in-process.ts';
import { mustBeForm } from './import-zip.ts';
import { aboutUpload, uploadedPackage } from './upload.ts';
import { differencesFrom, keyOf, presentPackage, uploadedContent } from './uploaded-content.ts';

export interface CheckRouteOptions {
  readonly target: ImportTarget;
  readonly lifecycle: Pick<Lifecycle, 'left'>;
}

/** Milliseconds that the check of a package may take: it comes behind all else on the cores. */
const TIMEOUT_MS = 120_000;
/** Packages that wait or are checked. */
const MOST = 4;

export function checkRoute(app: FastifyInstance, { target, lifecycle }: CheckRouteOptions): void {
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
      const found = await turns.run('check', () => checked(target, file.path, signal));
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

async function checked(target: ImportTarget, archive: string, signal: AbortSignal): Promise<object> {
  const { shelf, limits } = target;
  let content;
  try {
    content = await uploadedContent(archive, limits, shelf.defaultNaan);
  } catch (thrown) {
    // What an import would say too.
    if (!(thrown instanceof ServiceError) || thrown.status >= 500) throw thrown;
    return { ko: null, digest: null, present: null, ...asFound({ failure: thrown.message }), differences: [] };
  }
  const present = await presentPackage(shelf, content.id);
  try {
    const differences = present === undefined ? [] : await differencesFrom(present, content);
    const found = asFound(await inFolder(target.spool, (folder) => checkInProcess(archive, folder, LIMITS, signal)));
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

const LIMITS = { timeout: TIMEOUT_MS };

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
  const { ok = false, generation = null, findings = [], examples = null, untried = [] } = check.found;
  return { ok, generation, findings, examples, untried };
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
