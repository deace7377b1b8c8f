/** A sandbox process that is not there: it does in fake time what the inputs of its calls say, and what its environment does to it. */
import { OddFrame } from '../../supervisor/frames.ts';
import { ASK, BEGUN, CHECK, DONE, DROP, FAILED, LOAD, LOADED, LOG, READY, REPLY, RUN } from '../protocol.ts';
import type { ProcessEvents, Sandbox } from '../../supervisor/process.ts';
import type { FakeClock } from '../../supervisor/support/fake-clock.ts';
import type { Random } from '../../../../test/support/random.ts';

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
        this.#emit(READY, 0, 0, '');
        this.#next();
      });
  }

  send(kind: number, a: number, b: number, text: string): void {
    if (!this.alive || this.isKilled) return;
    if (kind === REPLY) {
      const reply = this.#onReply;
      this.#onReply = undefined;
      if (reply === undefined) this.#environment.fault('a reply to what nobody asked');
      else this.#later(0, reply);
      return;
    }
    this.#inbox.push([kind, a, b, text]);
    this.#later(0, () => this.#next());
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
        throw new OddFrame(`a frame of kind ${kind} is too long`);
      this.#events.onFrame(kind, a, b, text);
    } catch (thrown) {
      if (!(thrown instanceof OddFrame)) throw thrown;
      this.#environment.fault(`what a good sandbox says is odd: ${thrown.message}`);
      this.exit('it was ended, since it sent what no sandbox sends');
    }
  }

  /** Takes the next frame in its order. */
  #next(): void {
    if (!this.#isReady || this.#isBusy || this.isKilled) return;
    const frame = this.#inbox.shift();
    if (frame === undefined) return;
    const [kind, slot, b, text] = frame;
    if (kind === DROP) {
      this.#loaded.delete(slot);
      return this.#next();
    }
    this.#isBusy = true;
    const delay = this.#environment.coreDelay();
    this.#later(delay, () => {
      this.#worksSince = this.#environment.clock.now();
      if (b === 1) this.#emit(BEGUN, slot, 0, '');
      if (kind === LOAD || kind === CHECK) this.#load(slot, text, kind === LOAD);
      else if (kind === RUN) this.#run(slot, text);
      else this.#environment.fault(`a frame of kind ${kind} is sent to a sandbox`);
    });
  }

  #done(kind: number, slot: number, began: number, text: string): void {
    const { clock } = this.#environment;
    if (this.#worksSince !== undefined) this.#work += clock.now() - this.#worksSince;
    this.#worksSince = undefined;
    this.#isBusy = false;
    this.#environment.onOver(this);
    this.#emit(kind, slot, Math.max(20, (clock.now() - began) * 1000), text);
    this.#later(0, () => this.#next());
  }

  #load(slot: number, text: string, keeps: boolean): void {
    const { clock } = this.#environment;
    const began = clock.now();
    const { ms, does } = JSON.parse(text) as CallScript;
    if (does === 'hang') return;
    this.#later(ms, () => {
      if (does === 'crash') return this.exit('SIGSEGV');
      if (does !== 'throw' && keeps) this.#loaded.add(slot);
      this.#done(LOADED, slot, began, does === 'throw' ? 'Error: it throws' : '');
    });
  }

  #run(slot: number, text: string): void {
    const { clock } = this.#environment;
    const end = text.indexOf('\n');
    const [depth = 0, left = 0, guard = 0] = text.slice(0, end).split(',').map(Number);
    const began = clock.now();
    const fail = (why: string, message: string): void =>
      this.#done(FAILED, slot, began, JSON.stringify({ why, message, stack: '' }));
    if (!this.#loaded.has(slot)) return fail('threw', 'the endpoint is not loaded');
    const scripts = text
      .slice(end + 1)
      .split('\0')
      .map((each) => JSON.parse(each) as CallScript & { padding?: string });
    const lines: string[] = [];
    const goOn = (): void => {
      const script = scripts[lines.length];
      if (script === undefined) return this.#done(DONE, slot, began, lines.join('\n'));
      this.#environment.onRun(script.id, this);
      if (this.#environment.random.chance(0.05)) this.#emit(LOG, slot, 0, 'info\nit logs');
      const answer = (): void => {
        lines.push(script.does === 'throw' ? '!{"message":"it throws"}' : String(script.id));
        goOn();
      };
      this.#later(script.ms, () => {
        if (guard === 1 && clock.now() - began > left) return fail('timeout', 'timed out');
        if (script.does === 'answer' || script.does === 'throw') return answer();
        if (script.does === 'fail') return fail('threw', 'it is thrown outside of an answer');
        if (script.does === 'fill') return fail('memory', 'too much memory');
        if (script.does === 'crash') return this.exit('SIGSEGV');
        if (script.does === 'grow') this.#bytes += 3000 * MB;
        else if (script.does === 'ask' || script.does === 'ask and crash')
          return this.#ask(script, depth, left, answer);
        if (guard === 1 && script.does === 'spin') this.#later(left, () => fail('timeout', 'timed out'));
      });
    };
    goOn();
  }

  /** Looks for another endpoint, then calls it. */
  #ask({ id, does }: CallScript, depth: number, left: number, answer: () => void): void {
    const about = { id: String(id), contentType: '', depth: depth + 1, left };
    this.#onReply = () => {
      this.#onReply = answer;
      this.#emit(ASK, 0, 0, `${JSON.stringify({ ...about, question: 'call' })}\n`);
      if (does === 'ask and crash') this.#later(this.#environment.random.between(0, 20), () => this.exit('SIGABRT'));
    };
    this.#emit(ASK, 0, 0, `${JSON.stringify({ ...about, question: 'find' })}\n`);
  }
}
