import { escapeForMessage } from '../knowledge-object/escape-for-message.ts';
import { koKey } from '../knowledge-object/id.ts';
import { importRefused } from '../lib/errors.ts';
import { isAtHome } from './entry-of-at-id.ts';
import type { ShelfEntry } from './shelf.ts';

/** "Two different `@id`s that would fall on one place: the second import is refused and both are named." @throws importRefused. */
export function requirePlace(coming: ShelfEntry, there: ShelfEntry | undefined): void {
  if (there === undefined || there.atId === coming.atId || ![there, coming].every(isAtHome)) return;
  const key = koKey(coming.id);
  const [its, other] = [coming, there].map(({ atId = key }) => escapeForMessage(atId));
  throw importRefused(
    `@id ${its ?? ''} falls on the place ${key}, where ${other ?? ''} is on the shelf: give one of them another name or version`,
  );
}
