/** What callers hear of the database, in the words of the contract. */
import { outcomeUnknown, ServiceError, shelfFull, shelfNotWritable, shelfUnavailable } from '../../../lib/errors.ts';
import { DatabaseError } from './database-error.ts';

export function asServiceError(thrown: unknown): unknown {
  if (!(thrown instanceof DatabaseError) || thrown instanceof ServiceError) return thrown;
  if (thrown.isUnsure)
    return outcomeUnknown(
      'The connection to the database broke at the end of this change, and cannot be made again yet: the change may be done or not. Look whether it is before you ask for it again.',
      thrown,
    );
  if (thrown.fault === 'full')
    return shelfFull(
      'The database of the shelf has no space left; nothing was changed. Free space there and try again.',
      {
        cause: thrown,
      },
    );
  if (thrown.fault === 'permission')
    return shelfNotWritable(
      'The database of the shelf does not let its user make this change; nothing was changed. Grant it SELECT, INSERT, UPDATE and DELETE on the tables of its schema.',
      { cause: thrown },
    );
  if (['server', 'schema'].includes(thrown.fault))
    return shelfNotWritable('The database of the shelf refused the change; nothing was changed.', { cause: thrown });
  const why = thrown.fault === 'read-only' ? 'can only be read' : 'cannot be reached';
  return shelfUnavailable(
    `The database of the shelf ${why} at the moment, so nothing can be changed: try again later. Calls and reads go on.`,
    thrown,
  );
}
