/** Judges packages by `--trust-policy`, a file that is read again when it changes. */
import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { koKey, type KoId } from '../../../knowledge-object/id.ts';
import { messageOf, packageNotTrusted, startRefused, toError } from '../../../lib/errors.ts';
import type { HashedFile } from '../package-content.ts';
import { MAX_BUNDLE_BYTES } from './bundle-file.ts';
import { isBundlePath, listingOf } from './subject.ts';
import { parseTrustPolicy, type TrustPolicy } from './trust-policy.ts';
import { verdict, type NamedBundle, type Verdict } from './verdict.ts';

/** A package as it came, or as it lies on the shelf. */
export interface JudgedPackage {
  readonly id: KoId;
  readonly files: Iterable<HashedFile>;
  /** Returns the bytes of a file of it. */
  readonly read: (path: string) => Promise<Buffer>;
  /** When the shelf first recorded it. */
  readonly admitted: Date;
}

export interface TrustOptions {
  /** Undefined: nobody asks whose a package is. */
  readonly file: string | undefined;
  readonly warn: (message: string, cause?: unknown) => void;
  /** For tests: milliseconds between two looks at the file. */
  readonly lookEveryMs?: number;
}

/** "Only revocation, or a policy that no longer lists the signer, stops what is active: within 5 s". */
const LOOK_EVERY_MS = 2000;
const MAX_POLICY_BYTES = 1024 * 1024;

export class Trust implements Disposable {
  /** Hears that packages may be judged otherwise than before. */
  onChange: () => void = () => undefined;
  /** Why the file cannot be used as it is now; the last good one counts. */
  problem: string | undefined;
  readonly #options: TrustOptions;
  #policy: TrustPolicy;
  #text: string;
  #judgedAt = new Date();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  private constructor(options: TrustOptions, { policy, text }: ReadPolicy) {
    this.#options = options;
    this.#policy = policy;
    this.#text = text;
  }

  /** @throws startRefused where the file cannot be used. */
  static async open(options: TrustOptions): Promise<Trust> {
    const { file, lookEveryMs = LOOK_EVERY_MS } = options;
    if (file === undefined) return new Trust(options, { policy: { mode: 'off', naans: new Map() }, text: '' });
    const read = await readPolicy(file).catch((thrown: unknown) => {
      throw startRefused(`--trust-policy: ${messageOf(thrown)}`, { cause: thrown });
    });
    const trust = new Trust(options, read);
    const look = (): void => void (trust.#looking ??= trust.#look(file));
    trust.#timer = setInterval(look, lookEveryMs).unref();
    return trust;
  }

  /** False where every package is taken as it is. */
  get isAsked(): boolean {
    return this.#policy.mode !== 'off';
  }

  async judge({ id, files, read, admitted }: JudgedPackage): Promise<Verdict> {
    const all = [...files];
    const { sha256 } = listingOf(all);
    const bundles: NamedBundle[] = [];
    for (const { path, size } of all)
      if (isBundlePath(path))
        // One that is too large is refused by its size alone.
        bundles.push({ name: path, bytes: size > MAX_BUNDLE_BYTES ? Buffer.alloc(size) : await read(path) });
    return verdict({ naan: id.naan, sha256 }, bundles, this.#policy, { admitted, now: new Date() });
  }

  /** The verdict on a package that is to run or to be taken. @throws packageNotTrusted where the policy requires more. */
  async require(pkg: JudgedPackage): Promise<Verdict> {
    const given = await this.judge(pkg);
    const { decision, reason = '' } = given;
    if (decision === 'refuse') throw packageNotTrusted(`${koKey(pkg.id)} is not trusted: ${reason}`);
    if (decision === 'warn') this.#options.warn(`${koKey(pkg.id)} is not trusted, and runs all the same: ${reason}`);
    return given;
  }

  /**
   * "A package of the same version by another signer is refused under `require`, named under `warn`."
   * @throws packageNotTrusted.
   */
  requireSameSigner(id: KoId, before: Verdict, now: Verdict): void {
    const known = new Set(before.signatures.map(({ signer }) => signer));
    if (known.size === 0 || now.signatures.some(({ signer }) => known.has(signer))) return;
    const by = now.signatures.map(({ signer }) => signer).join(', ');
    const what = `${koKey(id)} is signed by ${[...known].join(', ')}, and this package of the same version ${by === '' ? 'by nobody' : `by ${by}`}`;
    if (this.#policy.mode === 'require')
      throw packageNotTrusted(`${what}: give it another version, or delete the other first`);
    this.#options.warn(what);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #look(file: string): Promise<void> {
    const before = this.#judgedAt;
    const now = new Date();
    try {
      const { policy, text } = await readPolicy(file);
      const isOther = text !== this.#text;
      this.#policy = policy;
      this.#text = text;
      this.problem = undefined;
      this.#judgedAt = now;
      if (isOther || hasRevocation(policy, before, now)) this.onChange();
    } catch (thrown) {
      const problem = `${messageOf(thrown)}. The policy of before counts until this is mended`;
      // Health shows no folders of this machine.
      const shown = problem.replaceAll(`${dirname(file)}/`, '');
      if (shown !== this.problem) this.#options.warn(`--trust-policy: ${problem}`);
      this.problem = shown;
      if (hasRevocation(this.#policy, before, now)) {
        this.#judgedAt = now;
        this.onChange();
      }
    } finally {
      this.#looking = undefined;
    }
  }
}

/** Whether a signer is revoked from a time in between. */
const hasRevocation = ({ naans }: TrustPolicy, after: Date, until: Date): boolean =>
  [...naans.values()].some(({ signers }) =>
    signers.some(({ revoked }) => revoked !== undefined && revoked > after && revoked <= until),
  );

interface ReadPolicy {
  readonly policy: TrustPolicy;
  /** All that was read for it. */
  readonly text: string;
}

/** @throws Error that names file and line. */
async function readPolicy(file: string): Promise<ReadPolicy> {
  const text = (await readBounded(file)).toString('utf8');
  const roots = new Map<string, Buffer | Error>();
  for (;;) {
    let missing: string | undefined;
    try {
      const policy = parseTrustPolicy(text, file, (path) => {
        const root = roots.get(path);
        if (root === undefined) missing = path;
        if (Buffer.isBuffer(root)) return root;
        throw root ?? new Error('not read yet');
      });
      return { policy, text: [text, ...[...roots].map(([path, root]) => `${path}\n${String(root)}`)].join('\n') };
    } catch (thrown) {
      if (missing === undefined) throw thrown;
      roots.set(missing, await readBounded(resolve(dirname(file), missing)).catch(toError));
    }
  }
}

async function readBounded(path: string): Promise<Buffer> {
  const found = await stat(path);
  if (!found.isFile()) throw new Error(`${path} is no file`);
  if (found.size > MAX_POLICY_BYTES) throw new Error(`${path} has more than ${String(MAX_POLICY_BYTES)} bytes`);
  return readFile(path);
}
