/**
 * The one place where what a worker sends is parsed. The code in it may write to its sockets: what has not the form that
 * a worker gives it is an `OddFrame`, which ends that worker.
 */
import type { CodePlace } from '../../lib/code-place.ts';
import { OddFrame } from '../supervisor/frames.ts';
import { objectOf } from '../sandbox/from-process.ts';
import { CallFailure } from './call-failure.ts';
import type { FailureKind } from './call-failure.ts';
import { RESULT_HEAD } from '../records.ts';
import type { RecordsPart } from '../records.ts';
import { answers } from '../supervisor/messages.ts';
import type { Question } from '../supervisor/messages.ts';

export const MAX_DESCRIPTION_CHARACTERS = 4000;
const MAX_ID_CHARACTERS = 2048;
const MAX_FILE_CHARACTERS = 300;

const KINDS: Readonly<Record<number, FailureKind>> = {
  [answers.thrown]: 'thrown',
  [answers.failed]: 'failed',
  [answers.invalid]: 'invalid',
  [answers.unreadable]: 'unreadable',
  [answers.unloaded]: 'unloaded',
  [answers.unwritable]: 'unwritable',
  [answers.memory]: 'memory',
};

/** `answer`: what kind of answer it is. `clean`: takes out of what the code says what nobody should read. @throws OddFrame. */
export function failureOf(answer: number, text: string, clean: (text: string) => string): CallFailure {
  const kind = KINDS[answer];
  if (kind === undefined) throw new OddFrame('an answer is of no kind');
  const { description, status, place, retire } = objectOf(text);
  if (typeof description !== 'string') throw new OddFrame('a failure has no description');
  const said = clean(description).slice(0, MAX_DESCRIPTION_CHARACTERS);
  if (status !== undefined && status !== 400 && status !== 422) throw new OddFrame('a failure has another status');
  const at = placeOf(place);
  return new CallFailure(kind === 'invalid' && status === undefined ? 'thrown' : kind, said, {
    ...(status === undefined ? {} : { status }),
    ...(at && { place: at }),
    retires: retire === true,
  });
}

function placeOf(said: unknown): CodePlace | undefined {
  if (typeof said !== 'object' || said === null) return undefined;
  const { file, line } = said as Readonly<Record<string, unknown>>;
  const isPath =
    typeof file === 'string' && file.length <= MAX_FILE_CHARACTERS && /^[^/\\\p{Cc}][^\\\p{Cc}]*$/u.test(file);
  return isPath && typeof line === 'number' && Number.isSafeInteger(line) && line > 0 ? { file, line } : undefined;
}

/** @throws OddFrame. */
export function questionOf(text: string): Required<Question> {
  const { what = 'call', uri, contentType = 'application/json', body = '' } = objectOf(text);
  if (what !== 'call' && what !== 'metadata') throw new OddFrame('a question is of no kind');
  if (typeof uri !== 'string' || typeof contentType !== 'string' || typeof body !== 'string')
    throw new OddFrame('a question has no texts');
  // The code gives them, and may give anything.
  return { what, uri: uri.slice(0, MAX_ID_CHARACTERS), contentType: contentType.slice(0, MAX_ID_CHARACTERS), body };
}

/** `text`: a character for each byte. `most`: how many lines it may have. @throws OddFrame. */
export function linesOf(text: string, most: number, clean: (text: string) => string): RecordsPart[] {
  const found: RecordsPart[] = [];
  const lines = text.split('\n');
  if (lines.pop() !== '' || lines.length > most) throw new OddFrame('answers to records are not as many as these');
  let run = '';
  let count = 0;
  const endRun = (): void => {
    if (count > 0) found.push({ lines: run, count });
    run = '';
    count = 0;
  };
  for (const line of lines) {
    if (line.startsWith(RESULT_HEAD)) {
      checkJson(line);
      run += `${line}\n`;
      count++;
      continue;
    }
    endRun();
    if (!line.startsWith('!')) throw new OddFrame('an answer is neither a result nor a failure');
    found.push(failureOf(Number(line[1]), Buffer.from(line.slice(2), 'latin1').toString('utf8'), clean));
  }
  endRun();
  return found;
}

/** The code may have written it to the socket itself, and it goes into the answer as it is. */
function checkJson(line: string): void {
  try {
    JSON.parse(line);
  } catch {
    throw new OddFrame('a result is not JSON');
  }
}
