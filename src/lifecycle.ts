import type { Socket } from 'node:net';
import { withoutCredentials } from './lib/without-credentials.ts';

/** Where the service is between its start and its end; readiness depends on it. */
export class Lifecycle {
  /** Every endpoint of the local engines was decided, and the manifests were imported. */
  started = false;
  /** Connections that came since: health tells them of it, and nothing else is begun for them. */
  readonly late = new WeakSet<Socket>();

  readonly #left = new AbortController();
  readonly #stopped = new AbortController();

  /** It was asked to stop, and load balancers are told so: calls still work. */
  get draining(): boolean {
    return this.#left.signal.aborted;
  }

  leave(): void {
    this.#left.abort();
  }

  /** Aborted once it was asked to stop. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /** It stops: nothing new is begun. */
  get stopping(): boolean {
    return this.#stopped.signal.aborted;
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Aborted once it stops. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Those that the operator named for the start. */
  readonly manifests = new StartManifests();

  /** It was asked to stop. */
  get leaving(): boolean {
    return this.draining || this.stopping;
  }

  get ready(): boolean {
    return this.started && !this.leaving;
  }
}

// What became of the manifests that the operator named for the start: health tells of it, and calls wait for it.

/** One `--manifest`. */
interface ImportedManifest {
  readonly manifest: string;
  readonly imported: number;
  readonly failures: readonly { readonly location: string; readonly cause: string }[];
}

/** More would make the health long; the log has them all. */
const MOST_NAMED = 20;

export class StartManifests {
  #named: readonly string[] = [];
  #arriving = false;
  readonly #done: ImportedManifest[] = [];

  /** From now on what is not known may be on its way. */
  begin(named: readonly string[]): void {
    this.#named = named.map(withoutCredentials);
    this.#arriving = named.length > 0;
  }

  add(manifest: ImportedManifest): void {
    this.#done.push(manifest);
  }

  /** What was imported can be called, or never will be. */
  end(): void {
    this.#arriving = false;
  }

  get arriving(): boolean {
    return this.#arriving;
  }

  /** Those of which something, or everything, was not imported, in the order in which they were named. */
  get failed(): readonly ImportedManifest[] {
    return this.#done
      .filter(({ imported, failures }) => imported === 0 || failures.length > 0)
      .sort((a, b) => this.#named.indexOf(a.manifest) - this.#named.indexOf(b.manifest));
  }

  /** Nothing where no manifest was named. */
  health(): { status: 'UP' | 'DOWN'; details: Record<string, unknown> } | undefined {
    if (this.#named.length === 0) return undefined;
    const { failed } = this;
    return {
      status: failed.length === 0 ? 'UP' : 'DOWN',
      details: {
        manifests: this.#named.length,
        arriving: this.#arriving,
        imported: this.#done.reduce((sum, { imported }) => sum + imported, 0),
        failures: failed.map(({ manifest, imported, failures }) => ({
          manifest: withoutHostPath(manifest),
          imported,
          failed: failures.length,
          causes: failures.slice(0, MOST_NAMED).map((each) => `${withoutHostPath(each.location)} ${each.cause}`),
        })),
      },
    };
  }
}

/** One line of why a manifest failed. */
export function whyFailed({ manifest, imported, failures }: ImportedManifest): string {
  const [first] = failures;
  if (first === undefined) return `the manifest ${manifest} lists no knowledge objects`;
  if (failures.length === 1 && imported === 0 && first.location === manifest)
    return `the manifest ${manifest} ${first.cause}`;
  const rest = failures.length === 1 ? '' : `, and ${failures.length - 1} more`;
  return `of the manifest ${manifest}, ${first.location} was not imported: it ${first.cause}${rest}`;
}

/** Of a file only its name, of an address no password. */
function withoutHostPath(location: string): string {
  if (/^https?:/i.test(location)) return withoutCredentials(location);
  return location.slice(location.lastIndexOf('/') + 1);
}
