/**
 * A sandbox process: holds one isolate for each KO that it was given and runs calls, one after the other, on
 * the only thread it has. It keeps no clock over the code: the activator does, and ends the process.
 */
import ivm from 'isolated-vm';
import { answers, kinds, MAX_ID_CHARACTERS, MAX_MESSAGE_CHARACTERS } from '../../supervisor/messages.ts';
import type { Failure, Question } from '../../supervisor/messages.ts';
import type { Found, LoadRequest } from '../code-files.ts';
import { MAX_DEPTH, tooDeep } from '../../call-headers.ts';
import { layLastWall } from '../../../confinement/close-behind.js';
import { compileBoot } from './boot.ts';
import { Checks } from './checks.ts';
import { Guards } from './guards.ts';
import { Pipe } from './pipe.ts';
import { answerPlatform, isOfPlatform } from './platform.ts';
import { Realm, failureOf, refuse } from './realm.ts';
import type { RunFailure } from './realm.ts';

const MAX_LOG_LINES = 100;
const MAX_FOUND = 1000;

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
/** Of those that could not be loaded: why. */
const unloaded = new Map<number, string>();
const codes = new Map<number, LoadedCode[]>();
const stack: RunningCall[] = [];
const guards = new Guards();
const checks = new Checks();
let found = new Map<string, Found>();
let logged = 0;
/** Number of the work that runs. */
let current = 0;

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
    if (failure.kind !== 'thrown') discard(code);
    throw new RunError(failure);
  } finally {
    code.onStack = false;
  }
}

/** Runs inputs in the endpoint of a slot and gives its lines. @throws RunError. */
function run(running: RunningCall, inputs: string, guard: number | undefined, areRecords = false): string {
  const load = loads.get(running.slot);
  if (load === undefined)
    throw new RunError({ kind: 'unloaded', description: unloaded.get(running.slot) ?? 'the endpoint is not loaded' });
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
  thrown: (message: string) => message,
  unloaded: (message: string) => message,
};

class RunError extends Error {
  readonly failure: RunFailure;
  constructor(failure: RunFailure) {
    super(failure.description);
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
    if (logged++ < MAX_LOG_LINES) pipe.send(kinds.log, slot, 0, `${id}\n${body}`);
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
  if (id.length > MAX_ID_CHARACTERS) return { kind: 'none' };
  const known = found.get(id);
  if (known !== undefined) return known;
  const place = JSON.parse(ask(caller, { what: 'find', id, contentType: '' }, '')) as Found;
  if (place.kind === 'here' && !loads.has(place.slot)) {
    // It may have been sent already, for a call that stands behind this one.
    const sent = pipe.waiting(kinds.define, place.slot);
    const load = place.load ?? (sent === undefined ? undefined : (JSON.parse(sent) as LoadRequest));
    if (load !== undefined) loads.set(place.slot, load);
  }
  if (found.size < MAX_FOUND) found.set(id, place);
  return place;
}

function call(caller: RunningCall, id: string, body: string, contentType: string): string {
  if (caller.depth + 1 > MAX_DEPTH) return refuse(tooDeep(id));
  const place = where(caller, id);
  if (place.kind === 'none') return refuse(`${id.slice(0, MAX_ID_CHARACTERS)} is not active`);
  const left = caller.ends - uptime();
  if (left <= 0) return refuse(`${id}: ${WORDS.timeout()}`);
  if (place.kind === 'elsewhere') {
    const most = loads.get(caller.slot)?.maxResult ?? 0;
    if (body.length > most) return refuse(`${id}: the input is larger than the limit of ${most} bytes`);
    return ask(caller, { what: 'call', id, contentType: contentType.slice(0, MAX_ID_CHARACTERS) }, body);
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
    return refuse(`${id}: ${thrown instanceof RunError ? WORDS[thrown.failure.kind](thrown.message) : String(thrown)}`);
  }
}

function ask(caller: RunningCall, question: Omit<Question, 'depth' | 'left'>, body: string): string {
  const left = Math.max(0, caller.ends - uptime());
  pipe.send(
    kinds.ask,
    0,
    current,
    `${JSON.stringify({ ...question, depth: caller.depth + 1, left } satisfies Question)}\n${body}`,
  );
  return pipe.nextOf(kinds.reply).text;
}

// ----- what the activator asks for -----

/** What needs too much memory beside other code is tried again alone. */
function check(slot: number, text: string): void {
  const request = JSON.parse(text) as LoadRequest;
  const lines: string[] = [];
  const problem = checks.problemOf(request, (question, id, body, contentType) => {
    if (question !== 'log') return answer(slot, request, question, id, body, contentType);
    if (lines.length < MAX_LOG_LINES) lines.push(`${id}\n${body}`);
    return '';
  });
  if (problem === undefined) {
    load(slot, text);
    drop(slot);
    return;
  }
  for (const line of lines) pipe.send(kinds.log, slot, 0, line);
  if (problem !== '') unloaded.set(slot, problem.slice(0, MAX_MESSAGE_CHARACTERS + 500));
}

function load(slot: number, text: string): void {
  logged = 0;
  const request = JSON.parse(text) as LoadRequest;
  loads.set(slot, request);
  unloaded.delete(slot);
  try {
    enter(slot, request, () => undefined);
  } catch (thrown) {
    const { failure } = thrown instanceof RunError ? thrown : { failure: undefined };
    const isOfLimits = failure?.kind === 'timeout' || failure?.kind === 'memory';
    unloaded.set(slot, isOfLimits ? failure.kind : messageOf(thrown));
    loads.delete(slot);
  }
}

/** Answers what was asked to load. */
function tellOfLoad(number: number, slot: number): void {
  const problem = unloaded.get(slot);
  if (problem === undefined) pipe.send(kinds.answer, number, answers.result, '');
  else tellOfFailure(number, { kind: 'unloaded', description: problem });
}

function tellOfFailure(number: number, { kind, ...failure }: RunFailure): void {
  pipe.send(kinds.answer, number, answers[kind], JSON.stringify(failure satisfies Failure));
}

function runBatch(number: number, slot: number, text: string, areRecords: boolean): void {
  const began = process.hrtime.bigint();
  const end = text.indexOf('\n');
  const [depth = 0, limit = 0, guard = 0] = text.slice(0, end).split(',').map(Number);
  found = new Map();
  logged = 0;
  try {
    const running = { slot, depth, ends: uptime() + limit };
    const lines = run(running, text.slice(end + 1), guard === 1 ? limit : undefined, areRecords);
    pipe.send(areRecords ? kinds.lines : kinds.results, number, since(began), lines);
  } catch (thrown) {
    tellOfFailure(
      number,
      thrown instanceof RunError ? thrown.failure : { kind: 'thrown', description: messageOf(thrown) },
    );
  }
}

function drop(slot: number): void {
  for (const code of codes.get(slot) ?? []) discard(code);
  codes.delete(slot);
  loads.delete(slot);
}

/** See `lib/time.ts`, which is not among the files that a sandbox may read. */
const uptime = (): number => Math.floor(performance.now());
const messageOf = (thrown: unknown): string =>
  (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, MAX_MESSAGE_CHARACTERS + 500);
/** Microseconds; 0 would say that more follows. */
const since = (began: bigint): number =>
  Math.max(1, Math.min(0xffffffff, Number((process.hrtime.bigint() - began) / 1000n)));

layLastWall();
pipe.send(kinds.ping, 0, 0, '');
for (;;) {
  const { kind, a, b, text } = pipe.next();
  if (kind === kinds.drop) {
    drop(a);
    unloaded.delete(a);
  } else if (kind === kinds.define) {
    if (b !== 0) pipe.send(kinds.begun, b, 0, '');
    load(a, text);
    pipe.send(kinds.ping, 0, 0, '');
  } else {
    current = a;
    const slot = b >>> 1;
    if ((b & 1) === 1) pipe.send(kinds.begun, a, 0, '');
    if (kind === kinds.batch || kind === kinds.records) runBatch(a, slot, text, kind === kinds.records);
    else if (kind === kinds.load) load(slot, text);
    else if (kind === kinds.check) check(slot, text);
    if (kind === kinds.load || kind === kinds.check) tellOfLoad(a, slot);
    if (kind === kinds.check) unloaded.delete(slot);
  }
}
