import { messageOf, ServiceError } from '../../src/lib/errors.ts';

/** How a command ends. The numbers stand in `docs/authoring-commands.md` and in `kgrid --help`. */
export const EXIT = {
  ok: 0,
  /** A package has problems, an example fails, an endpoint does not run. */
  problems: 1,
  /** The command was not called as it must be. */
  usage: 2,
  /** An activator cannot be reached or refuses the login, or a file cannot be read or written. */
  unreachable: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends a command with one sentence for its user. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export const usageFailure = (message: string): CommandFailure => new CommandFailure(EXIT.usage, message);

export const ioFailure = (message: string, cause?: unknown): CommandFailure =>
  new CommandFailure(EXIT.unreachable, message, { cause });

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
