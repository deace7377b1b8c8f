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
