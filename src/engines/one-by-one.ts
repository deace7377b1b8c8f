/** Records as calls of their own, for engines and code that have no quicker way. */
import { toError } from '../lib/errors.ts';
import { mapBounded } from '../lib/fair-queue.ts';
import type { Call } from './engine.ts';
import { type RecordBlock, type RecordsPart, resultLine, textsOf } from './records.ts';

const AT_ONCE = 32;
const JSON_TYPE = 'application/json';

/** `common`: what all of them have. Never rejects. */
export function oneByOne(
  records: RecordBlock,
  common: Omit<Call, 'body' | 'contentType' | 'json'>,
  execute: (call: Call) => Promise<string>,
  atOnce = AT_ONCE,
): Promise<RecordsPart[]> {
  return mapBounded(textsOf(records), atOnce, (body) =>
    execute({ ...common, body, contentType: JSON_TYPE, json: true }).then(resultLine, toError),
  );
}
