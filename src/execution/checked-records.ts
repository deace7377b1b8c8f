/** Records that are held to the schema of their endpoint: those that it refuses are not run. */
import { RESULT_HEAD, textsOf } from '../engines/records.ts';
import type { RecordBlock, RecordsAnswer, RecordsPart } from '../engines/records.ts';
import { toError } from '../lib/errors.ts';
import { mapBounded } from '../lib/map-bounded.ts';
import type { ServiceError } from '../lib/errors.ts';
import type { CheckedCall, EndpointChecks } from './call-checks.ts';

/** Those of which `refuse` says why are not run. Gives the answer in their order; never rejects for what it throws. */
export async function runOthers(
  records: RecordBlock,
  refuse: (text: string) => Promise<ServiceError | undefined>,
  run: (some: RecordBlock) => Promise<RecordsAnswer>,
): Promise<RecordsAnswer> {
  const refusals = await mapBounded(textsOf(records), AT_ONCE, (text) => refuse(text).catch(toError));
  const left = withoutRefused(records, refusals);
  const answer = left.count === 0 ? [] : await run(left);
  return left.count === records.count ? answer : withRefusals(answer, refusals);
}

const AT_ONCE = 32;

type Refusals = readonly (Error | undefined)[];

/** Gives the answer in their order; never rejects for a check. */
export async function runChecked(
  records: RecordBlock,
  run: (some: RecordBlock) => Promise<RecordsAnswer>,
  checks: EndpointChecks,
  call: CheckedCall,
): Promise<RecordsAnswer> {
  let refusals: Refusals | undefined;
  try {
    const checking = checks.inputs(textsOf(records), call);
    refusals = checking === undefined ? undefined : await checking;
  } catch (thrown) {
    const error = toError(thrown);
    return Array.from({ length: records.count }, () => error);
  }
  const left = refusals === undefined ? records : withoutRefused(records, refusals);
  const answer = left.count === 0 ? [] : await run(left);
  if (checks.concernsResults) checks.results(answer.flatMap(resultsOf), call);
  return refusals === undefined || left.count === records.count ? answer : withRefusals(answer, refusals);
}

function withoutRefused(records: RecordBlock, refusals: Refusals): RecordBlock {
  if (refusals.every((each) => each === undefined)) return records;
  const lines = records.text.split('\n').filter((_, i) => refusals[i] === undefined);
  return { text: lines.join('\n'), count: lines.length };
}

function withRefusals(answer: RecordsAnswer, refusals: Refusals): RecordsAnswer {
  const parts = answer.flatMap((part): RecordsPart[] =>
    part instanceof Error || part.count === 1
      ? [part]
      : linesOf(part.lines).map((line) => ({ lines: `${line}\n`, count: 1 })),
  );
  let next = 0;
  return refusals.map((refusal) => refusal ?? parts[next++] ?? new Error('the record has no answer'));
}

const resultsOf = (part: RecordsPart): string[] =>
  part instanceof Error
    ? []
    : linesOf(Buffer.from(part.lines, 'latin1').toString('utf8')).map((line) => line.slice(RESULT_HEAD.length, -1));

const linesOf = (lines: string): string[] => lines.split('\n').slice(0, -1);
