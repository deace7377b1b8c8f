/** What somebody may, as options say it. */
import type { Command } from 'commander';
import { GRANT_FORM, isGrant } from '../../src/identity/grants.ts';
import { usageFailure } from './exit.ts';

export const GRANT_HELP = `A grant is a role on everything (operator, author, caller, reader, metrics), on a naan (author@hello), on a knowledge
object (caller@hello/welcome) or on a version of one (caller@hello/welcome/v1.0). operator has all of author, author of
caller, caller of reader; metrics reads /actuator/prometheus alone.`;

export const grantOption = (command: Command): Command =>
  command.option(
    '--grant <grant>',
    'a role, or a role@place; may repeat',
    (value: string, before: readonly string[] = []) => [...before, value],
  );

/** @throws CommandFailure. */
export function grantsOf(given: readonly string[] = []): readonly string[] {
  const grants = given.flatMap((each) => each.split(',')).map((each) => each.trim());
  const wrong = grants.find((each) => !isGrant(each));
  if (wrong !== undefined) throw usageFailure(`--grant is '${wrong}', but must be ${GRANT_FORM}`);
  if (grants.length === 0) throw usageFailure('Say what it may with --grant, such as --grant author@hello');
  return grants;
}
