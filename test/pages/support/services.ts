/** Services that tests share: the start of one, and the first form that it shows, take longer than most of them. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { after } from 'node:test';
import { PROJECT, startService, temporaryFolder } from '../../acceptance/support/service.ts';
import type { OwnService, Start } from '../../acceptance/support/service.ts';

/** Who may log in to the secured service, by a password with signs that need care. */
export const USER = 'ann';
export const PASSWORD = 'a löng password: of a test';
/** Its `--queue-limit`. */
export const QUEUE_LIMIT = 77;

const once = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
};

/** With a copy of the examples, for tests that change nothing. */
export const exampleService = once(() => ownExampleService());

/** What code says in its errors is shown too, so that it can be markup. */
const LOG_MESSAGES = '--log-messages';

/** For tests that speak of knowledge objects of their own alone. */
export const openService = once(() => endedLast({ args: [LOG_MESSAGES] }));

/** As that, where all but reading needs a login, calls too; its client has it. */
export const securedService = once(() =>
  endedLast({
    profile: 'secure',
    args: ['--secure-execution', '--queue-limit', String(QUEUE_LIMIT), LOG_MESSAGES],
    env: { KGRID_USER: USER, KGRID_PASSWORD: PASSWORD },
    credentials: `${USER}:${PASSWORD}`,
  }),
);

interface ExampleStart extends Start {
  readonly folders?: readonly string[] | undefined;
}

async function endedLast(start: Start): Promise<OwnService> {
  const service = await startService(start);
  after(() => service[Symbol.asyncDispose]());
  return service;
}

/** `folders`: those of the examples that it has; all, where it is left out. */
export async function ownExampleService({ folders, ...start }: ExampleStart = {}): Promise<OwnService> {
  const shelf = await temporaryFolder();
  const examples = join(PROJECT, 'examples');
  for (const folder of folders ?? ['']) await cp(join(examples, folder), join(shelf.path, folder), { recursive: true });
  const service = await startService({ ...start, shelf: shelf.path });
  after(async () => {
    await service[Symbol.asyncDispose]();
    await shelf[Symbol.asyncDispose]();
  });
  return service;
}
