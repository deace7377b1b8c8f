/** A sandbox process that is not there: it does in fake time what the inputs of its calls say, and what its environment does to it. */
import { ProtocolError } from '../../../src/engines/supervisor/frames.ts';
import { answers, kinds } from '../../../src/engines/supervisor/messages.ts';
import type { ProcessEvents, Sandbox } from '../../../src/engines/supervisor/process.ts';
import type { FakeClock } from './fake-clock.ts';
import type { Random } from '../random.ts';

/** What the input of a call makes its code do. */
export interface CallScript {
  readonly id: number;
  readonly does: 'answer' | 'throw' | 'fail' | 'spin' | 'hang' | 'crash' | 'fill' | 'grow' | 'ask' | 'ask and crash';
  /** Milliseconds of work before that. */
  readonly ms: number;
}

/** What is done to processes. */
export interface Environment {
  readonly clock: FakeClock;
  readonly random: Random;
  /** How a start goes: milliseconds until it is ready, `exit`, or `never`. */
  start(): number | 'exit' | 'never';
  /** Milliseconds for which a process that works gets no core. */
  coreDelay(): number;
  /** Something does not hold. */
  fault(what: string): void;
  /** The code of a call begins, or is over, in a process. */
  onRun(id: number, process: FakeSandbox): void;
  onOver(process: FakeSandbox): void;
  onGone(process: FakeSandbox): void;
}

type Frame = readonly [kind: number, a: number, b: number, text: string];
const MB = 1024 * 1024;

export class FakeSandbox implements Sandbox {
  alive = true;
  /** It was told to end: it does nothing from then on. */
  isKilled = false;
  readonly #events: ProcessEvents;
  readonly #environment: Environment;
  readonly #inbox: Frame[] = [];
  readonly #loaded = new Set<number>();
  #isReady = false;
  #isBusy = false;
  #bytes = 60 * MB;
  #work = 0;
  #worksSince: number | undefined;
  #onReply: (() => void) | undefined;

  constructor(environment: Environment, events: ProcessEvents) {
    this.#environment = environment;
    this.#events = events;
    const start = environment.start();
    if (start === 'exit') this.#later(environment.random.between(1, 40), () => this.exit('exit code 1'));
    else if (start !== 'never')
      this.#later(start, () => {
        this.#isReady = true;
        this.#emit(kinds.ping, 0, 0, '');
        this.#next();
      });
  }

  send(kind: number, a: number, b: number, text: string): void {
    if (!this.alive || this.isKilled) return;
    if (kind === kinds.reply) {
      const reply = this.#onReply;
      this.#onReply = undefined;
      if (reply === undefined) this.#environment.fault('a reply to what nobody asked');
      else this.#later(0, reply);
      return;
    }
    this.#inbox.push([kind, a, b, text]);
    this.#later(0, () => this.#next());
  }

  write(): void {
    this.#environment.fault('bytes for a program whose calls run one after the other');
  }

  kill(): void {
    this.#end('SIGKILL');
  }

  /** It ends by itself, or by somebody else. */
  exit(reason: string): void {
    this.#end(reason);
  }

  lowerPriority(): void {
    if (!this.#isReady) this.#environment.fault('the priority of a process is lowered before it is up');
  }

  memory(): number {
    return this.#bytes;
  }

  processorTime(): number {
    const { clock } = this.#environment;
    return 10 * Math.floor((this.#work + (this.#worksSince === undefined ? 0 : clock.now() - this.#worksSince)) / 10);
  }

  #end(reason: string): void {
    if (this.isKilled || !this.alive) return;
    this.isKilled = true;
    this.#environment.onOver(this);
    this.#environment.clock.after(this.#environment.random.between(0, 30), () => {
      this.alive = false;
      this.#environment.onGone(this);
      this.#events.onExit(reason);
    });
  }

  #later(milliseconds: number, action: () => void): void {
    this.#environment.clock.after(milliseconds, () => {
      if (this.alive && !this.isKilled) action();
    });
  }

  #emit(kind: number, a: number, b: number, text: string): void {
    try {
      if (Buffer.byteLength(text) > this.#events.mostOf(kind))
        throw new ProtocolError(`a frame of kind ${kind} is too long`);
      this.#events.onFrame(kind, a, b, text);
    } catch (thrown) {
      if (!(thrown instanceof ProtocolError)) throw thrown;
      this.#environment.fault(`what a good sandbox says is odd: ${thrown.message}`);
      this.exit('it was ended, since it sent what no sandbox sends');
    }
  }

  /** Takes the next frame in its order. */
  #next(): void {
    if (!this.#isReady || this.#isBusy || this.isKilled) return;
    const frame = this.#inbox.shift();
    if (frame === undefined) return;
    const [kind, a, b, text] = frame;
    if (kind === kinds.drop) {
      this.#loaded.delete(a);
      return this.#next();
    }
    this.#isBusy = true;
    const delay = this.#environment.coreDelay();
    this.#later(delay, () => {
      this.#worksSince = this.#environment.clock.now();
      const slot = b >>> 1;
      if (kind === kinds.define) {
        if (b !== 0) this.#emit(kinds.begun, b, 0, '');
        return this.#load(a, text, true, () => this.#done(kinds.ping, 0, 0, ''));
      }
      if ((b & 1) === 1) this.#emit(kinds.begun, a, 0, '');
      if (kind === kinds.load || kind === kinds.check)
        this.#load(slot, text, kind === kinds.load, (problem) => {
          if (problem === '') this.#done(kinds.answer, a, answers.result, '');
          else this.#fail(a, answers.unloaded, problem);
        });
      else if (kind === kinds.batch) this.#run(a, slot, text);
      else this.#environment.fault(`a frame of kind ${kind} is sent to a sandbox`);
    });
  }

  #fail(number: number, kind: number, description: string): void {
    this.#done(kinds.answer, number, kind, JSON.stringify({ description, stack: '' }));
  }

  #done(kind: number, a: number, b: number, text: string): void {
    const { clock } = this.#environment;
    if (this.#worksSince !== undefined) this.#work += clock.now() - this.#worksSince;
    this.#worksSince = undefined;
    this.#isBusy = false;
    this.#environment.onOver(this);
    this.#emit(kind, a, b, text);
    this.#later(0, () => this.#next());
  }

  #load(slot: number, text: string, keeps: boolean, tell: (problem: string) => void): void {
    const { ms, does } = JSON.parse(text) as CallScript;
    if (does === 'hang') return;
    this.#later(ms, () => {
      if (does === 'crash') return this.exit('SIGSEGV');
      if (does !== 'throw' && keeps) this.#loaded.add(slot);
      tell(does === 'throw' ? 'Error: it throws' : '');
    });
  }

  #run(number: number, slot: number, text: string): void {
    const { clock } = this.#environment;
    const end = text.indexOf('\n');
    const [depth = 0, left = 0, guard = 0] = text.slice(0, end).split(',').map(Number);
    const began = clock.now();
    const fail = (kind: number, message: string): void => this.#fail(number, kind, message);
    if (!this.#loaded.has(slot)) return fail(answers.unloaded, 'the endpoint is not loaded');
    const scripts = text
      .slice(end + 1)
      .split('\0')
      .map((each) => JSON.parse(each) as CallScript & { padding?: string });
    const lines: string[] = [];
    const goOn = (): void => {
      const script = scripts[lines.length];
      if (script === undefined)
        return this.#done(kinds.results, number, Math.max(20, (clock.now() - began) * 1000), lines.join('\n'));
      this.#environment.onRun(script.id, this);
      if (this.#environment.random.chance(0.05)) this.#emit(kinds.log, slot, 0, 'info\nit logs');
      const answer = (): void => {
        lines.push(script.does === 'throw' ? '!1{"description":"it throws"}' : String(script.id));
        goOn();
      };
      this.#later(script.ms, () => {
        if (guard === 1 && clock.now() - began > left) return fail(answers.timeout, 'timed out');
        if (script.does === 'answer' || script.does === 'throw') return answer();
        if (script.does === 'fail') return fail(answers.thrown, 'it is thrown outside of an answer');
        if (script.does === 'fill') return fail(answers.memory, 'too much memory');
        if (script.does === 'crash') return this.exit('SIGSEGV');
        if (script.does === 'grow') this.#bytes += 3000 * MB;
        else if (script.does === 'ask' || script.does === 'ask and crash')
          return this.#ask(number, script, depth, left, answer);
        if (guard === 1 && script.does === 'spin') this.#later(left, () => fail(answers.timeout, 'timed out'));
      });
    };
    goOn();
  }

  /** Looks for another endpoint, then calls it. */
  #ask(number: number, { id, does }: CallScript, depth: number, left: number, answer: () => void): void {
    const about = { id: String(id), contentType: '', depth: depth + 1, left };
    this.#onReply = () => {
      this.#onReply = answer;
      this.#emit(kinds.ask, 0, number, `${JSON.stringify({ ...about, what: 'call' })}\n`);
      if (does === 'ask and crash') this.#later(this.#environment.random.between(0, 20), () => this.exit('SIGABRT'));
    };
    this.#emit(kinds.ask, 0, number, `${JSON.stringify({ ...about, what: 'find' })}\n`);
  }
}
