/** Sends a file of a package: its type, conditional requests, ranges, streaming. */
import { extname } from 'node:path/posix';
import type { FastifyReply, FastifyRequest } from 'fastify';
import parseRange from 'range-parser';
import { rangeNotSatisfiable } from '../lib/errors.ts';
import type { KoPackage } from '../shelf/shelf.ts';
import { matchesEtag } from './headers.ts';

/** Whole files up to this size are read at once, and verified before the first byte is sent. */
const READ_WHOLE_BYTES = 1024 * 1024;

export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  pkg: KoPackage,
  path: string,
): Promise<unknown> {
  const size = pkg.files.get(path)?.size ?? 0;
  const etag = path === 'metadata.json' ? pkg.entry.etag : `"${pkg.entry.digest.slice(0, 32)}"`;
  const range = rangeOf(request, etag, size);
  if (range === 'unsatisfiable') throw rangeNotSatisfiable(path, size);
  const type = await typeOfFile(path);
  reply.headers({
    'content-type': type,
    'content-disposition': 'inline',
    'accept-ranges': 'bytes',
    'cache-control': 'no-cache',
    'content-security-policy': policyFor(type),
    etag,
  });
  if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  if (range !== undefined) {
    reply.code(206).headers({
      'content-range': `bytes ${range.start}-${range.end}/${size}`,
      'content-length': range.end - range.start + 1,
    });
    return reply.send(request.method === 'HEAD' ? undefined : await pkg.stream(path, range));
  }
  if (request.method === 'HEAD') return reply.headers({ 'content-length': size }).send();
  if (size <= READ_WHOLE_BYTES) return reply.send(await pkg.read(path));
  return reply.headers({ 'content-length': size }).send(await pkg.stream(path));
}

/** One range of bytes; requests for several get the whole file. */
function rangeOf(
  request: FastifyRequest,
  etag: string,
  size: number,
): { start: number; end: number } | 'unsatisfiable' | undefined {
  const { range, 'if-range': condition } = request.headers;
  if (range === undefined || (condition !== undefined && condition !== etag)) return undefined;
  // "If the selected representation is shorter than the specified suffix-length, the entire representation is used" (RFC 9110).
  const ranges = parseRange(
    size,
    range.replace(/^bytes=-(\d+)$/, (_, length) => `bytes=-${Math.min(Number(length), size)}`),
  );
  if (ranges === -1) return 'unsatisfiable';
  if (ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1) return undefined;
  return ranges[0];
}

const UNKNOWN_TYPE = 'application/octet-stream';

const OWN_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.cjs': 'text/javascript; charset=utf-8',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.py': 'text/x-python; charset=utf-8',
};

export async function typeOfFile(path: string): Promise<string> {
  const extension = extname(path).toLowerCase();
  const own = OWN_TYPES[extension];
  if (own !== undefined || extension === '') return own ?? UNKNOWN_TYPE;
  // A table of all types there are, which a service that sends no such file does without.
  const { contentType } = await import('mime-types');
  const known = contentType(extension);
  return known === false ? UNKNOWN_TYPE : known;
}

/**
 * A package's HTML or SVG must not run script on the service's origin. Browsers show a PDF in a page of their
 * own, which `sandbox` would keep empty.
 */
export const policyFor = (type: string): string =>
  type === 'application/pdf'
    ? "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'"
    : "default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox";
