/** Imports the manifests that the operator named, while the service answers already. */
import type { App } from './app.ts';
import type { Config } from './config/config.ts';
import { koKey } from './knowledge-object/id.ts';
import type { KoId } from './knowledge-object/id.ts';
import { startRefused } from './lib/errors.ts';
import type { Logger } from './lib/log.ts';
import { withoutCredentials } from './lib/without-credentials.ts';
import type { ManifestOutcome } from './shelf/manifest-importer.ts';
import { whyFailed } from './start-manifests.ts';
import type { StartManifests } from './start-manifests.ts';

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
  const outcomes = await app.manifests
    .importNamed(named)
    .catch((thrown: unknown): ManifestOutcome[] => [{ location: manifest, error: toError(thrown) }]);
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

const toError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
