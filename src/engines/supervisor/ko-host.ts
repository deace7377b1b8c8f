/**
 * One version of a knowledge object: its endpoints, the worker that runs them, the calls that wait. A call that passes
 * its limit takes its worker out of use: calls that had begun there go on as long as it is alive, and those that had not
 * are sent to a new one.
 */
import { whyNotStarted } from '../../confinement/launch.ts';
import { failed, isStopping, processEnded, queueIsFull, withoutUncaught } from './call-failure.ts';
import type { HostOptions, KoLog } from './host-options.ts';
import { KoNetwork } from './ko-network.ts';
import { withoutOwnPaths } from './own-paths.ts';
import { ifBlocked } from './worker-policy.ts';
import { answerTo } from './questions.ts';
import { Waiting } from './waiting.ts';
import { WorkerCall, WorkerEndpoint } from './worker-call.ts';
import type { WorkerCallParts, WorkerWork } from './worker-call.ts';
import type { EndpointCode } from './adapter.ts';
import { fail, failOverdue, hasEnded } from './settle-work.ts';
import { Worker } from './worker.ts';
import type { WorkerFault } from './worker.ts';
import { WorkerLosses } from './worker-losses.ts';
import type { WorkerLoss } from './worker-losses.ts';

export class KoHost {
  /** `<naan>/<name>/<version>`, for the log. */
  readonly ko: string;
  readonly #options: HostOptions;
  readonly #log: KoLog;
  /** Tells that there is work, or may be. */
  readonly #wake: () => void;
  readonly #endpoints = new Map<string, WorkerEndpoint>();
  readonly #waiting: Waiting;
  #current: Worker | undefined;
  readonly #retired = new Set<Worker>();
  readonly #network: KoNetwork;
  #closing = false;
  /** Workers in a row that ended and left only work that had not begun. */
  #endsInVain = 0;
  #onClosed: (() => void) | undefined;
  readonly #losses: WorkerLosses;

  constructor(ko: string, options: HostOptions, log: KoLog, wake: () => void) {
    this.ko = ko;
    this.#waiting = new Waiting(ko);
    this.#losses = new WorkerLosses(options.losses);
    this.#network = new KoNetwork(options.network, ko, () => this.#codes);
    this.#options = options;
    this.#log = log;
    this.#wake = wake;
  }

  get #codes(): readonly EndpointCode[] {
    return [...this.#endpoints.values()].map(({ code }) => code);
  }

  get workers(): readonly Worker[] {
    return this.#current ? [this.#current, ...this.#retired] : [...this.#retired];
  }

  /** The worker that may be stopped because it has nothing to do. */
  get idleWorker(): Worker | undefined {
    return this.#current?.open.size === 0 ? this.#current : undefined;
  }

  get #isKilled(): boolean {
    return this.#closing && this.#onClosed === undefined;
  }

  /** Calls that wait. */
  get waiting(): number {
    return this.#waiting.calls;
  }

  get hasWork(): boolean {
    return !this.#waiting.isNothing || this.workers.some(({ open }) => open.size > 0);
  }

  /** Before its first endpoint: what its code may reach is there when that is loaded. */
  openNetwork(): Promise<void> {
    return this.#network.open();
  }

  /** Adds an endpoint or puts it anew, so that its next load starts from its files. */
  define(code: EndpointCode): void {
    const index = this.#endpoints.get(code.uri)?.index ?? this.#endpoints.size;
    const endpoint = new WorkerEndpoint(index, code, this.#options.loadLimitMs);
    this.#endpoints.set(code.uri, endpoint);
    const worker = this.#current;
    if (!worker) return;
    const readable = code.folders.every((folder) => worker.folders.has(folder));
    if (readable && !worker.loaded.has(index)) worker.define(endpoint);
    else void this.#retire(worker);
  }

  /** Gives why it cannot be loaded; empty text where it can. */
  load(uri: string): Promise<string> {
    return new Promise((resolve) => {
      const endpoint = this.#endpoints.get(uri);
      if (endpoint === undefined) return resolve(`${uri} is not defined`);
      this.#waiting.addLoad(endpoint, this.#options.clock.now() + endpoint.limit, resolve);
      this.#pump();
      this.#wake();
    });
  }

  /** `parts.reject` gets a `CallFailure`. */
  submit(uri: string, parts: WorkerCallParts): void {
    const { clock, queue } = this.#options;
    const endpoint = this.#endpoints.get(uri);
    if (endpoint === undefined) return parts.reject(failed(`${uri} is not active`));
    if (this.#isKilled) return parts.reject(isStopping());
    const { calls } = this.#waiting;
    if (calls >= queue && !this.#hasPlace()) return parts.reject(queueIsFull(this.ko, calls));
    this.#waiting.addCall(new WorkerCall(endpoint, parts, clock.now()));
    this.#pump();
    this.#wake();
  }

  /** Lets the open calls end, then the processes. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#closing = true;
      this.#onClosed = resolve;
      this.#settleClosing();
    });
  }

  kill(): void {
    this.#closing = true;
    this.#waiting.stop();
    for (const worker of this.workers) worker.kill(isStopping().message);
    this.#network.close();
  }

  /** Called several times a second while there is work: ends what passed its limit. */
  expire(now: number): void {
    this.#waiting.expire(now, this.#options.starts.problem);
    for (const worker of this.workers) this.#expireIn(worker, now);
    // A pause after starts that failed may be over.
    this.#pump();
  }

  /** … and leaves a worker that a call keeps busy to that call. */
  checkBlocked(now: number): void {
    const worker = this.#current;
    if (!worker) return;
    const { policy } = this.#options;
    const next = ifBlocked(
      { openCalls: worker.open.size, lastHeard: worker.lastHeard, pingedAt: worker.pingedAt },
      now,
      policy,
    );
    if (next === 'ping') worker.ping();
    else if (next === 'leave behind' && this.#retired.size < policy.mostLeftBehind) {
      this.#losses.add(worker, 'blocked');
      void this.#retire(worker);
    }
  }

  /** Ends the worker that has nothing to do; the next call starts another. */
  stopIdle(): void {
    if (this.idleWorker) void this.#retire(this.idleWorker);
  }

  /** Ends what uses more memory than it may. */
  checkMemory(): void {
    for (const worker of this.workers) {
      if (!worker.usesTooMuchMemory()) continue;
      this.#losses.add(worker, 'memory');
      void this.#retire(worker).then(() => worker.kill(worker.memoryReason()));
    }
  }

  /** Ends the worker of that process, since it takes more than it may. */
  endFor(loss: WorkerLoss, pid: number, reason: string): void {
    const worker = this.workers.find((each) => each.pid === pid);
    if (worker === undefined) return;
    this.#losses.add(worker, loss);
    void this.#retire(worker).then(() => worker.kill(reason));
  }

  #expireIn(worker: Worker, now: number): void {
    if (!failOverdue(worker.open, now)) return;
    this.#losses.add(worker, 'timeout');
    void this.#retire(worker).then(() => this.#endIfBlocked(worker));
  }

  #hasPlace(): boolean {
    return (this.#current?.active ?? 0) < this.#options.concurrency;
  }

  #isFullOfCallers(): boolean {
    const { program, concurrency } = this.#options;
    return program.keepsThreads === true && (this.#current?.outer ?? 0) >= concurrency;
  }

  #pump(): void {
    while (!this.#waiting.isNothing && this.#hasPlace()) {
      if (this.#current && !this.#current.usable) void this.#retire(this.#current);
      if (!this.#current && !this.#options.starts.mayStart) return;
      const work = this.#waiting.take(this.#isFullOfCallers());
      if (work === undefined) return;
      this.#current ??= this.#start();
      this.#current.send(work);
    }
  }

  #start(): Worker {
    const endpoints = [...this.#endpoints.values()];
    const folders = new Set(endpoints.flatMap(({ code }) => code.folders));
    const root = endpoints[0]?.code.root ?? '/';
    const { ko } = this;
    const name = ko.slice(0, ko.lastIndexOf('/'));
    const may = (names: readonly string[] = []): boolean => names.includes(name);
    const home = {
      ...{ ko, root, folders: [...folders], network: this.#network.access },
      ...{ processes: may(this.#options.processes), addons: may(this.#options.addons) },
    };
    const clean = (text: string): string => withoutOwnPaths(text, this.#codes, this.#options.scratch);
    const worker = new Worker((events) => this.#options.start(home, events), folders, this.#options, {
      freed: (freed) => this.#freed(freed),
      asked: (from, number, callNumber, question) => void this.#answer(from, number, callNumber, question),
      spent: (spent) => void this.#retire(spent),
      gaveBack: (from, unbegun) => this.#takeBack(from, unbegun),
      ended: (ended, unbegun, fault) => this.#ended(ended, unbegun, fault),
      notStarted: (ended, works, reason) => this.#notStarted(ended, works, reason),
      printed: (stream, line) => this.#log.printed(stream, clean(line)),
      clean: (text) => this.#network.access.explain(clean(text)),
    });
    if (this.#options.isBehindOthers) worker.lowerPriority();
    for (const endpoint of endpoints) worker.define(endpoint);
    return worker;
  }

  #freed(worker: Worker): void {
    if (this.#retired.has(worker)) this.#endIfDone(worker);
    else this.#pump();
    this.#settleClosing();
  }

  #ended(worker: Worker, unbegun: readonly WorkerWork[], fault: WorkerFault | undefined): void {
    if (fault !== undefined) {
      // A stop ends them all, and nobody need look into that.
      if (!this.#isKilled) {
        this.#losses.add(worker, fault.kind);
        this.#log.failed(withoutUncaught(fault.why));
      }
    }
    this.#forget(worker);
    this.#runAgain(worker, unbegun, fault?.why);
    this.#pump();
    this.#settleClosing();
  }

  /** What had not begun in a worker that has ended. */
  #runAgain(worker: Worker, works: readonly WorkerWork[], fault = ''): void {
    if (works.length === 0) return;
    this.#endsInVain = worker.hasBegun ? 0 : this.#endsInVain + 1;
    // The code may have made up what had begun.
    const isHopeless = this.#endsInVain > this.#options.policy.mostEndsInVain;
    if (isHopeless || this.#isKilled)
      for (const work of works) fail(work, this.#isKilled ? isStopping() : processEnded(fault));
    else this.#waiting.putBack(works);
  }

  #notStarted(worker: Worker, works: readonly WorkerWork[], how: string): void {
    const reason = whyNotStarted(how);
    const { starts } = this.#options;
    this.#losses.add(worker, 'start-failed');
    this.#forget(worker);
    this.#waiting.putBack(works);
    this.#log.failed(`it could not be started: ${reason}`);
    starts.onFailed(reason);
    if (starts.areHopeless) this.#waiting.failLoads(starts.problem ?? reason);
    this.#settleClosing();
  }

  #forget(worker: Worker): void {
    if (this.#current === worker) this.#current = undefined;
    this.#retired.delete(worker);
  }

  async #retire(worker: Worker): Promise<void> {
    if (this.#retired.has(worker)) return;
    this.#retired.add(worker);
    if (this.#current === worker) this.#current = undefined;
    if (worker.open.size > 0) await worker.seal();
    this.#endIfDone(worker);
    this.#pump();
  }

  #takeBack(worker: Worker, unbegun: readonly WorkerWork[]): void {
    this.#waiting.putBack(unbegun);
    this.#endIfDone(worker);
    this.#pump();
  }

  #endIfDone(worker: Worker): void {
    for (const { work } of worker.open) if (!hasEnded(work)) return;
    worker.stop();
  }

  async #endIfBlocked(worker: Worker): Promise<void> {
    const { clock, policy } = this.#options;
    worker.ping();
    await new Promise<void>((resolve) => clock.after(policy.aliveMs, resolve));
    if (worker.lastHeard >= worker.pingedAt) this.#endIfDone(worker);
    else worker.kill('The call was in one process with another that passed its time limit and kept it busy');
  }

  async #answer(worker: Worker, number: number, callNumber: number, question: string): Promise<void> {
    const { clock, policy } = this.#options;
    worker.reply(number, callNumber, await answerTo(worker.open.get(callNumber), question, clock, policy));
  }

  #settleClosing(): void {
    if (!this.#closing || !this.#waiting.isNothing) return;
    for (const worker of this.workers) this.#endIfDone(worker);
    if (this.workers.length > 0) return;
    this.#network.close();
    this.#onClosed?.();
  }
}
