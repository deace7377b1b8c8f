/** Copying files behind walls, where to change the mode of a file changes nothing. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** The native way of `cpSync` makes files that nobody may read before their mode is changed; a filter has it take the other. */
export function copyWithoutModes(): void {
  const { cpSync } = fs;
  fs.cpSync = (from, to, options) => cpSync(from, to, { ...options, filter: options?.filter ?? (() => true) });
  syncBuiltinESMExports();
}
