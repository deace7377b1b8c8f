/**
 * A sandbox process: holds one isolate for each KO that it was given and runs calls, one after the other, on
 * the only thread it has. It keeps no clock over the code: the activator does, and ends the process.
 */
import ivm from 'isolated-vm';
import { MAX_MESSAGE_CHARACTERS } from '../../sandbox/from-process.ts';
import {
  ASK,
  BEGUN,
  CHECK,
  DONE,
  DONE_RECORDS,
  DROP,
  FAILED,
  LOAD,
  LOADED,
  LOG,
  READY,
  REPLY,
  RUN,
  RUN_RECORDS,
} from '../../sandbox/protocol.ts';
import type { Question, RunFailure } from '../../sandbox/protocol.ts';
import type { Found, LoadRequest } from '../load-request.ts';
import { MAX_DEPTH, tooDeep } from '../../call-headers.ts';
import { layLastWall } from '../../../confinement/close-behind.js';
import { compileBoot } from './boot.ts';
import { Checks } from './checks.ts';
import { Guards } from './guards.ts';
import { Pipe } from './pipe.ts';
import { answerPlatform, isOfPlatform } from './platform.ts';
import { Realm, failureOf, refuse } from './realm.ts';

const MAX_LOG_LINES = 100;
const MAX_FOUND = 1000;
/** Characters; the id of an endpoint has fewer. */
const MAX_ID = 1000;

/** The code of one endpoint. An isolate that is on the stack cannot be entered again by code that waits in it; each level gets one of its own. */
interface LoadedCode {
  readonly isolate: ivm.Isolate;
  readonly boot: ivm.Script;
  realm: Realm | undefined;
  onStack: boolean;
}

/** What runs now: a call from the activator, and below it the calls that it made. */
interface RunningCall {
  readonly slot: number;
  readonly depth: number;
  readonly ends: number;
}

const pipe = new Pipe();
const loads = new Map<number, LoadRequest>();
const codes = new Map<number, LoadedCode[]>();
const stack: RunningCall[] = [];
const guards = new Guards();
const checks = new Checks();
let found = new Map<string, Found>();
let logged = 0;

function codeFor(slot: number, load: LoadRequest): LoadedCode {
  const levels = codes.get(slot) ?? [];
  codes.set(slot, levels);
  const free = levels.findIndex((each) => !each.onStack);
  const code = levels[free];
  if (code !== undefined && !code.isolate.isDisposed) return code;
  const isolate = new ivm.Isolate({ memoryLimit: load.heapMb });
  const made: LoadedCode = {
    isolate,
    boot: compileBoot(isolate),
    realm: undefined,
    onStack: false,
  };
  levels[free < 0 ? levels.length : free] = made;
  return made;
}

/** Uses the endpoint's code, which is loaded where it is not there yet. @throws RunError. */
function enter<T>(slot: number, load: LoadRequest, use: (realm: Realm) => T): T {
  const code = codeFor(slot, load);
  code.onStack = true;
  try {
    const realm = code.realm ?? Realm.create(code.isolate, code.boot, load, (...asked) => answer(slot, load, ...asked));
    if (!load.freshContext) code.realm = realm;
    try {
      return use(realm);
    } finally {
      if (load.freshContext && !code.isolate.isDisposed) realm.release();
    }
  } catch (thrown) {
    const failure = failureOf(thrown, code.isolate);
    // What was ended in the middle is not to be trusted with the next call.
    if (failure.why !== 'threw') discard(code);
    throw new RunError(failure);
  } finally {
    code.onStack = false;
  }
}

/** Runs inputs in the endpoint of a slot and gives its lines. @throws RunError. */
function run(running: RunningCall, inputs: string, guard: number | undefined, areRecords = false): string {
  const load = loads.get(running.slot);
  if (load === undefined) throw new RunError({ why: 'threw', message: 'the endpoint is not loaded' });
  const limit = guard === undefined ? undefined : { milliseconds: guard, mayAdd };
  stack.push(running);
  try {
    return enter(running.slot, load, (realm) => realm.run(inputs, limit, areRecords));
  } finally {
    stack.pop();
  }
}

const mayAdd = (limit: number): boolean => guards.mayAdd(uptime(), limit);

const WORDS = {
  timeout: () => 'it gave no result within the time that was left',
  memory: () => 'it needs more memory than its limit',
  threw: (message: string) => message,
};

class RunError extends Error {
  readonly failure: RunFailure;
  constructor(failure: RunFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

function discard(code: LoadedCode): void {
  code.realm = undefined;
  if (!code.isolate.isDisposed) code.isolate.dispose();
}

/** What code asks; the answer is JSON, or `!` and a message. */
function answer(
  slot: number,
  load: LoadRequest,
  question: string,
  id: string,
  body: string,
  contentType: string,
): string | number {
  if (question === 'log') {
    if (logged++ < MAX_LOG_LINES) pipe.send(LOG, slot, 0, `${id}\n${body}`);
    return '';
  }
  if (question === 'property') return JSON.stringify(Object.hasOwn(load.properties, id) ? load.properties[id] : null);
  if (isOfPlatform(question)) return answerPlatform(question, id, body);
  const caller = stack.at(-1);
  if (caller === undefined)
    return refuse('other knowledge objects can be called during a call only, not while the code loads');
  if (question === 'find') return where(caller, id).kind === 'none' ? 'null' : 'true';
  return call(caller, id, body, contentType);
}

function where(caller: RunningCall, id: string): Found {
  if (id.length > MAX_ID) return { kind: 'none' };
  const known = found.get(id);
  if (known !== undefined) return known;
  const place = JSON.parse(ask(caller, { question: 'find', id, body: '', contentType: '' })) as Found;
  if (place.kind === 'here' && !loads.has(place.slot)) {
    // It may have been sent already, for a call that stands behind this one.
    const sent = pipe.waiting(LOAD, place.slot);
    const load = place.load ?? (sent === undefined ? undefined : (JSON.parse(sent) as LoadRequest));
    if (load !== undefined) loads.set(place.slot, load);
  }
  if (found.size < MAX_FOUND) found.set(id, place);
  return place;
}

function call(caller: RunningCall, id: string, body: string, contentType: string): string {
  if (caller.depth + 1 > MAX_DEPTH) return refuse(tooDeep(id));
  const place = where(caller, id);
  if (place.kind === 'none') return refuse(`${id.slice(0, MAX_ID)} is not active`);
  const left = caller.ends - uptime();
  if (left <= 0) return refuse(`${id}: ${WORDS.timeout()}`);
  if (place.kind === 'elsewhere') {
    const most = loads.get(caller.slot)?.maxResult ?? 0;
    if (body.length > most) return refuse(`${id}: the input is larger than the limit of ${most} bytes`);
    return ask(caller, { question: 'call', id, body, contentType: contentType.slice(0, MAX_ID) });
  }
  const limit = Math.min(left, place.limit);
  const input = contentType === 'application/json' ? body : JSON.stringify(body);
  if (input.includes('\0')) return refuse('the input is not JSON: it holds a NUL character');
  const began = uptime();
  // Where the caller's own time is the shorter one, its end is that of the callee too.
  const guard = place.limit < left && guards.mayAdd(began, limit) ? limit : undefined;
  try {
    const line = run({ slot: place.slot, depth: caller.depth + 1, ends: began + limit }, input, guard);
    return uptime() - began > limit ? refuse(`${id}: ${WORDS.timeout()}`) : line;
  } catch (thrown) {
    return refuse(`${id}: ${thrown instanceof RunError ? WORDS[thrown.failure.why](thrown.message) : String(thrown)}`);
  }
}

function ask(caller: RunningCall, question: Pick<Question, 'question' | 'id' | 'body' | 'contentType'>): string {
  const left = Math.max(0, caller.ends - uptime());
  const { body, ...about } = question;
  pipe.send(
    ASK,
    0,
    0,
    `${JSON.stringify({ ...about, depth: caller.depth + 1, left } satisfies Omit<Question, 'body'>)}\n${body}`,
  );
  return pipe.nextOf(REPLY).text;
}

// ----- what the activator asks for -----

/** What needs too much memory beside other code is tried again alone. */
function check(slot: number, text: string): void {
  const began = process.hrtime.bigint();
  const request = JSON.parse(text) as LoadRequest;
  const lines: string[] = [];
  const problem = checks.problemOf(request, (question, id, body, contentType) => {
    if (question !== 'log') return answer(slot, request, question, id, body, contentType);
    if (lines.length < MAX_LOG_LINES) lines.push(`${id}\n${body}`);
    return '';
  });
  if (problem === undefined) {
    load(slot, text);
    return drop(slot);
  }
  for (const line of lines) pipe.send(LOG, slot, 0, line);
  pipe.send(LOADED, slot, since(began), problem.slice(0, MAX_MESSAGE_CHARACTERS + 500));
}

function load(slot: number, text: string): void {
  const began = process.hrtime.bigint();
  logged = 0;
  const request = JSON.parse(text) as LoadRequest;
  loads.set(slot, request);
  let problem = '';
  try {
    enter(slot, request, () => undefined);
  } catch (thrown) {
    problem = thrown instanceof RunError && thrown.failure.why !== 'threw' ? thrown.failure.why : messageOf(thrown);
    loads.delete(slot);
  }
  pipe.send(LOADED, slot, since(began), problem);
}

function runBatch(slot: number, text: string, areRecords: boolean): void {
  const began = process.hrtime.bigint();
  const end = text.indexOf('\n');
  const [depth = 0, limit = 0, guard = 0] = text.slice(0, end).split(',').map(Number);
  found = new Map();
  logged = 0;
  try {
    const running = { slot, depth, ends: uptime() + limit };
    const lines = run(running, text.slice(end + 1), guard === 1 ? limit : undefined, areRecords);
    pipe.send(areRecords ? DONE_RECORDS : DONE, slot, since(began), lines);
  } catch (thrown) {
    const failure = thrown instanceof RunError ? thrown.failure : { why: 'threw', message: messageOf(thrown) };
    pipe.send(FAILED, slot, since(began), JSON.stringify(failure));
  }
}

function drop(slot: number): void {
  for (const code of codes.get(slot) ?? []) discard(code);
  codes.delete(slot);
  loads.delete(slot);
}

/** See `lib/uptime.ts`, which is not among the files that a sandbox may read. */
const uptime = (): number => Math.floor(performance.now());
const messageOf = (thrown: unknown): string =>
  (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, MAX_MESSAGE_CHARACTERS + 500);
const since = (began: bigint): number => Math.min(0xffffffff, Number((process.hrtime.bigint() - began) / 1000n));

layLastWall();
pipe.send(READY, 0, 0, '');
for (;;) {
  const { kind, a, b, text } = pipe.next();
  if (b === 1) pipe.send(BEGUN, a, 0, '');
  if (kind === RUN || kind === RUN_RECORDS) runBatch(a, text, kind === RUN_RECORDS);
  else if (kind === LOAD) load(a, text);
  else if (kind === CHECK) check(a, text);
  else if (kind === DROP) drop(a);
}
