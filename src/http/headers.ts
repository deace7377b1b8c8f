import type { FastifyRequest } from 'fastify';

/** Headers of this service's own answers. */

/** The code of an error in the catalogue. */
export const ERROR_HEADER = 'KGrid-Error';
/** Names a call, in its answer and in the log. */
export const EXECUTION_ID_HEADER = 'kgrid-execution-id';
/** The content that an answer comes from. */
export const PACKAGE_DIGEST_HEADER = 'kgrid-package-digest';
/** Who signed it, of those whom the trust policy names: names with commas between them, percent-encoded. */
export const PACKAGE_SIGNER_HEADER = 'kgrid-package-signer';

/** Entity tags in `If-Match` and `If-None-Match`. */

/** The tags of a header, or undefined when there is none; `*` stands for any. */
export function tagsOf(header: string | undefined): string[] | undefined {
  return header
    ?.split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
}

/** Weak comparison, as `If-None-Match` wants it. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  return tagsOf(header)?.some((tag) => tag === '*' || tag.replace(/^W\//, '') === etag) ?? false;
}

/** The version that `?v=` asks for, the first where there are several; undefined for none and for an empty one. */
export function askedVersion(request: FastifyRequest): string | undefined {
  const { v } = request.query as { v?: string | string[] };
  const version = Array.isArray(v) ? v[0] : v;
  return version === '' ? undefined : version;
}
