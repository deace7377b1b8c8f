/** Apart, since a runtime on another machine has no packages. */
import Negotiator from 'negotiator';
import { boundedAccept } from './media-type.ts';

/** Of these media types the one that the client likes best; undefined for none. */
export function preferredType(accept: string | undefined, types: string[]): string | undefined {
  return new Negotiator({ headers: accept === undefined ? {} : { accept: boundedAccept(accept) } }).mediaType(types);
}
