import { hash } from 'node:crypto';

/** sha256 of several texts, as hex; where one ends and the next begins counts. */
export const digestOf = (...texts: readonly string[]): string => hash('sha256', JSON.stringify(texts), 'hex');
