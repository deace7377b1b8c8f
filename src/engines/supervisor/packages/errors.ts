/** What goes wrong while code is brought in: sentences for the author of a knowledge object or the operator. */
import { ActivationFailure } from '../../engine.ts';

export const activationFailed = (description: string): ActivationFailure => new ActivationFailure(description);

/** The code of a system error (`ENOENT`), or undefined. */
export const codeOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;

export const megabytes = (bytes: number): string => `${Math.round(bytes / 10_000) / 100} MB`;
