import { messageOf, ServiceError } from '../../src/lib/errors.ts';
import { CommandFailure, ioFailure } from './exit.ts';

/** What a shelf throws, in the words of a command. @throws CommandFailure. */
export async function orShelfFailure<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof CommandFailure) throw thrown;
    const words =
      thrown instanceof ServiceError ? thrown.message.replace(/^--shelf: |; stop it or .*$/g, '') : messageOf(thrown);
    throw ioFailure(words, thrown);
  }
}
