/** What to say where an activator does not do what it is asked. */
import { wordsOf } from '../../src/check/answers.ts';
import type { ActivatorClient } from './client.ts';
import type { Answer } from '../../src/check/answers.ts';
import { CommandFailure, EXIT, ioFailure } from './exit.ts';

/** @param what such as `does not take <id>`. */
export function refusal(answer: Answer, { url, login }: ActivatorClient, what: string): CommandFailure {
  const words = wordsOf(answer);
  if (answer.status === 401) {
    return ioFailure(
      login === undefined
        ? `${url} asks for a login: set KGRID_USER and KGRID_PASSWORD, or KGRID_TOKEN (${words})`
        : `${url} refused the login of ${login}: check it (${words})`,
    );
  }
  if (answer.status === 403) return ioFailure(`${url} does not let this login do that (${words})`);
  const isOurs = answer.status === 400 || answer.status === 413;
  return new CommandFailure(isOurs ? EXIT.problems : EXIT.unreachable, `${url} ${what}: ${words}`);
}

/** A knowledge object that an activator does not have. */
export const notThere = (key: string, { url }: ActivatorClient): CommandFailure =>
  new CommandFailure(EXIT.problems, `There is no ${key} at ${url}: "kgrid list" says what there is`);
