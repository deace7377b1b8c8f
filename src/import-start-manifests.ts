/** Imports the manifests that the operator named, while the service answers already. */
import { setTimeout as wait } from 'node:timers/promises';
import type { App } from './app.ts';
import type { Config } from './config/config.ts';
import { koKey, type KoId } from './knowledge-object/id.ts';
import { ServiceError, startRefused, toError } from './lib/errors.ts';
import type { Logger } from './lib/log.ts';
import { withoutCredentials } from './lib/without-credentials.ts';
import type { ManifestOutcome } from './shelf/manifest/create-manifest-importer.ts';
import { whyFailed, type StartManifests } from './start-manifests.ts';

const IMPORTED_AGAIN_AFTER_MS = 1000;
const UNTIL_THE_DATABASE_IS_BACK: ReadonlySet<string> = new Set(['shelf-unavailable', 'outcome-unknown']);

/** @throws startRefused where they are required and one fails, or a part of it. */
export async function importStartManifests(
  app: App,
  { manifests: named, manifestRequired }: Pick<Config, 'manifests' | 'manifestRequired'>,
  manifests: StartManifests,
  log: Logger,
): Promise<KoId[]> {
  const imported = (await Promise.all(named.map((each) => importOne(app, each, manifests, log)))).flat();
  const [failed] = manifests.failed;
  if (manifestRequired && failed !== undefined) throw startRefused(`--manifest-required: ${whyFailed(failed)}`);
  for (const each of manifests.failed) log.error({ manifest: each.manifest, imported: each.imported }, whyFailed(each));
  return imported;
}

async function importOne(app: App, named: string, manifests: StartManifests, log: Logger): Promise<KoId[]> {
  const manifest = withoutCredentials(named);
  const outcomes = await outcomesOf(app, named, log);
  const imported = outcomes.flatMap(({ id }) => (id === undefined ? [] : [id]));
  const failures = outcomes.flatMap(({ location, error }) =>
    error === undefined ? [] : [{ location: withoutCredentials(location), cause: error.message }],
  );
  for (const { id, digests } of outcomes) {
    if (id !== undefined && digests !== undefined) log.warn({ ko: koKey(id), digests }, 'Replaced');
  }
  for (const failure of failures) {
    if (failure.location !== manifest) log.warn(failure, 'manifest entry was not imported');
  }
  if (imported.length > 0) log.info({ manifest, imported: imported.length, of: outcomes.length }, 'manifest imported');
  manifests.add({ manifest, imported: imported.length, failures });
  return imported;
}

/** What was imported already is not imported twice: where the database of the shelf is away, all is asked for again. */
async function outcomesOf(app: App, named: string, log: Logger): Promise<readonly ManifestOutcome[]> {
  for (;;) {
    const outcomes = await app.manifests
      .importNamed(named)
      .catch((thrown: unknown): ManifestOutcome[] => [{ location: withoutCredentials(named), error: toError(thrown) }]);
    const lost = outcomes.find(
      ({ error }) => error instanceof ServiceError && UNTIL_THE_DATABASE_IS_BACK.has(error.code),
    );
    if (lost === undefined) return outcomes;
    log.warn(
      { manifest: withoutCredentials(named), cause: lost.error?.message },
      'the manifest is imported again: the database of the shelf is away',
    );
    await wait(IMPORTED_AGAIN_AFTER_MS);
  }
}
