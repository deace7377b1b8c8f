/** Clients that try again where the service, or other tests beside it, had too much to do. */
import { setTimeout as later } from 'node:timers/promises';
import type { Answer } from '../acceptance/support/client.ts';

/** Milliseconds for which a client tries again. */
const TIMEOUT_MS = 60_000;
const PAUSE_MS = 100;

/** Refused until later, or not done in time; nothing that is wrong with the call or lost. */
export const ranOutOfTime = ({ status, text }: Answer): boolean =>
  status === 503 || (status === 500 && /no result within the limit|passed (?:its|the) time limit/.test(text));

/** What a client hears who tries again when the answer says; the last answer where that is to no avail. */
export async function tryAgain(
  ask: () => Promise<Answer>,
  isToBeTriedAgain: (answer: Answer) => boolean = ({ status }) => status === 503,
  withinMs = TIMEOUT_MS,
): Promise<Answer> {
  for (const until = Date.now() + withinMs; ;) {
    const answer = await ask();
    if (!isToBeTriedAgain(answer) || Date.now() > until) return answer;
    await later(1000 * Number(answer.headers['retry-after'] ?? PAUSE_MS / 1000));
  }
}
