import { refusalsOf } from '../archive/archive.ts';

export const refused = refusalsOf('zip');
export const { archive: archiveRefused, entry: entryRefused } = refused;
