import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from '../../acceptance/support/service.ts';

const name = `${process.platform}-${process.arch}`;

/** The part of the package that Node loads; it needs nothing else of it. */
export const koffiPath = realpathSync(
  join(PROJECT, `node_modules/@koromix/koffi-${name}`, name.replace('-', '_'), 'koffi.node'),
);
