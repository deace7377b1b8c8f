/** The files that commands about signatures read: bounded, and refused in one sentence. */
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { KoSource } from '../../src/check/ko-source.ts';
import { messageOf } from '../../src/lib/errors.ts';
import { withoutEndSlashes } from '../../src/lib/text.ts';
import { hashFile } from '../../src/shelf/package/package-content.ts';
import { MAX_BUNDLE_BYTES } from '../../src/shelf/package/signatures/bundle-file.ts';
import { readPublicKey } from '../../src/shelf/package/signatures/keys.ts';
import { isBundlePath, type Listing, listingOf } from '../../src/shelf/package/signatures/subject.ts';
import { MAX_ROOT_BYTES, parseTrustedRoot } from '../../src/shelf/package/signatures/trusted-root.ts';
import type { NamedBundle } from '../../src/shelf/package/signatures/verdict.ts';
import type { Signer } from '../../src/shelf/package/signatures/verify.ts';
import type { Environment } from '../lib/context.ts';
import { ioFailure, usageFailure } from '../lib/exit.ts';

const MAX_KEY_BYTES = 64 * 1024;

/** Reads at most a byte more than a file may have, so that the parser says what is too large. */
export async function readBounded(path: string, most: number): Promise<Buffer> {
  try {
    await using file = await open(path);
    const bytes = Buffer.alloc(most + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length);
      length += bytesRead;
      if (bytesRead === 0 || length === bytes.length) return bytes.subarray(0, length);
    }
  } catch (thrown) {
    throw ioFailure(`${path} cannot be read: ${messageOf(thrown)}`, thrown);
  }
}

export const readBundleFile = (path: string): Promise<Buffer> => readBounded(path, MAX_BUNDLE_BYTES);

export async function readKeyText(path: string): Promise<string> {
  return (await readBounded(path, MAX_KEY_BYTES)).toString('utf8');
}

export interface SignerOptions {
  readonly key?: string;
  readonly certificateIdentity?: string;
  readonly certificateOidcIssuer?: string;
  readonly trustedRoot?: string;
}

/** The signer whom a person names: a key, or an identity. */
export async function signerOf(options: SignerOptions, env: Environment): Promise<Signer> {
  const { key, certificateIdentity: subject, certificateOidcIssuer: issuer } = options;
  const rootFile = options.trustedRoot ?? env['KGRID_TRUSTED_ROOT'];
  if (key !== undefined && (subject !== undefined || issuer !== undefined))
    throw usageFailure('Name either --key or a certificate identity, not both');
  const trustedRoot =
    rootFile === undefined ? undefined : await parsed(rootFile, async () => parseTrustedRoot(await readRoot(rootFile)));
  if (key !== undefined) {
    const publicKey = await parsed(key, async () => readPublicKey(await readKeyText(key)));
    return { kind: 'key', key: publicKey, ...(trustedRoot === undefined ? {} : { trustedRoot }) };
  }
  if (subject === undefined || issuer === undefined)
    throw usageFailure('Who must have signed it? Give --key, or --certificate-identity and --certificate-oidc-issuer');
  if (trustedRoot === undefined)
    throw usageFailure(
      'A certificate needs a trusted root: give its file as --trusted-root or KGRID_TRUSTED_ROOT. None is built in, since roots change, and none is fetched',
    );
  return { kind: 'identity', issuer, subject, trustedRoot };
}

const readRoot = (path: string): Promise<Buffer> => readBounded(path, MAX_ROOT_BYTES);

async function parsed<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    if (thrown instanceof Error && thrown.name === 'SignatureRefused') throw usageFailure(`${path}: ${thrown.message}`);
    throw thrown;
  }
}

/** A package whose signature is asked for: its listing, and the bundles that come with it. */
interface SignaturePlaces {
  readonly package: string;
  readonly examples: string;
  readonly listing: string;
}

/** In a folder bundles are at its root, where they go with the package; the bytes of a zip stay as they are. */
export function placesOf({ path, isArchive }: KoSource): SignaturePlaces {
  const base = withoutEndSlashes(path);
  return {
    package: isArchive ? `${base}.sigstore.json` : join(path, 'package.sigstore.json'),
    examples: isArchive ? `${base}.examples.sigstore.json` : join(path, 'examples.sigstore.json'),
    // Inside the folder it would be part of what it lists.
    listing: `${base}.sha256sums`,
  };
}

export async function listSource(source: KoSource): Promise<Listing> {
  const files = [];
  for (const { path, size } of source.files.values())
    if (!isBundlePath(path)) files.push({ path, size, sha256: await hashFile(join(source.folder, path), size) });
  return listingOf(files);
}

export async function bundlesOf(source: KoSource): Promise<NamedBundle[]> {
  const inside = [...source.files.keys()].filter(isBundlePath).map((path) => join(source.folder, path));
  const { package: own, examples } = placesOf(source);
  const beside = source.isArchive ? [own, examples].filter((path) => existsSync(path)) : [];
  const bundles = [];
  for (const path of [...beside, ...inside]) {
    const name = path.startsWith(source.folder) ? path.slice(source.folder.length).replace(/^\//, '') : path;
    bundles.push({ name, bytes: await readBundleFile(path) });
  }
  return bundles;
}

/** As public conformance suites of Sigstore name them. */
export const withSignerOptions = (command: Command): Command =>
  command
    .option('--key <file>', 'the public key of who must have signed it')
    .option('--certificate-identity <identity>', 'or the identity in the certificate, exactly')
    .option('--certificate-oidc-issuer <url>', 'and who vouches for that identity')
    .option('--trusted-root <file>', 'the authorities and logs that are believed; KGRID_TRUSTED_ROOT when left out');
