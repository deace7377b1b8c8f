import { malformedRequest, type ServiceError } from './errors.ts';

/** The path of a request's URL, without the query and what an absolute form puts before it. */
export function pathOf(url: string): string {
  const path = url.startsWith('/') ? url : url.replace(/^[a-z]+:\/\/[^/]*/i, '');
  const end = path.search(/[?#]/);
  return end < 0 ? path : path.slice(0, end);
}

export const badUrl = (path: string): ServiceError =>
  malformedRequest(`${path} is not a valid URL path: check its percent signs`);
