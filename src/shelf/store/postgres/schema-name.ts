import { startRefused } from '../../../lib/errors.ts';

export const STANDARD_FLEET = 'kgrid';

const NAME = /^[a-z][a-z0-9_-]{0,39}$/;
/** Schemas that PostgreSQL or everybody has. */
const TAKEN = /^(?:public|information_schema|pg_.*)$/;

/** Of the schema of a fleet. @throws startRefused. */
export function schemaName(fleet: string): string {
  if (!NAME.test(fleet) || TAKEN.test(fleet))
    throw startRefused(
      `--fleet is ${JSON.stringify(fleet.slice(0, 60))}, but must be 1 to 40 lower-case letters, digits, hyphens and underscores that begin with a letter, and be none of PostgreSQL's own schemas`,
    );
  return fleet;
}
