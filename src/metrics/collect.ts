/** All samples, family by family: what was counted, and what the parts of the service have now. */
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { Activator } from '../activation/activator.ts';
import type { Build } from '../build.ts';
import type { EngineRegistry } from '../engines/engine-registry.ts';
import type { EngineFigures } from '../engines/engine.ts';
import type { BatchFigures } from '../execution/batch/run-records.ts';
import type { FleetFigures } from '../fleet/fleet-health.ts';
import { uptime } from '../lib/time.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { FAMILIES, type FamilyKey } from './families.ts';
import type { Measured } from './measured.ts';
import { type Histogram, labelsOf, Samples } from './text.ts';

export interface Sources {
  readonly measured: Measured;
  readonly activator: Activator;
  readonly engines: EngineRegistry;
  readonly shelf: Shelf;
  readonly shelfFigures: ShelfReader;
  readonly processes: ProcessReader;
  readonly batches: () => BatchFigures;
  /** Bytes that are held for clients. */
  readonly held: () => number;
  readonly lostLines: () => number;
  /** Records of the audit that could not be kept. */
  readonly auditLost: () => number;
  /** The kernel confines the code of knowledge objects in full. */
  readonly isConfined: boolean;
  readonly isReady: () => boolean;
  readonly queueLimit: number;
  readonly build: Build;
  /** Of the node of a fleet. */
  readonly fleet: () => FleetFigures | undefined;
}

/** Samples of one family, and where more of it follow, a mark that others may have their turn. */
export type Collected = Samples | 'pause';

/** Histograms between two turns of others. */
const HISTOGRAMS_AT_ONCE = 250;

export class Collector {
  readonly #sources: Sources;

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** In the order of the table of families, each whole. */
  async *all(): AsyncGenerator<Collected, void, undefined> {
    const { measured, activator } = this.#sources;
    measured.executions.keepOnly(activator.set);
    const executions = [...measured.executions.series()].flatMap((series) => [...series.histograms()]);
    yield* histograms('requests', [...measured.requests.histograms()]);
    yield* histograms('executionDuration', executions);
    yield 'pause';
    yield of('executions', (samples) => {
      for (const [labels, { count }] of executions) samples.addLabelled(labels, count);
    });
    yield of('schemaBreaks', (samples) => {
      for (const { values, breaks } of measured.executions.series())
        for (const [key, count] of breaks) samples.add(count, ...values, ...key.split(' '));
    });
    yield this.#koInfo();
    yield 'pause';
    yield* this.#ofEngines();
    yield* this.#ofBatches();
    yield* this.#ofActivation();
    yield* await this.#ofShelf();
    yield* await this.#ofProcess();
  }

  /** What of the KOs that were called is active now. */
  #koInfo(): Samples {
    const { measured, activator } = this.#sources;
    const kos = new Map<string, readonly [string, string, string]>();
    for (const { ko } of measured.executions.series()) {
      if (ko === undefined) continue;
      const active = activator.set.ofName(ko).find((each) => each.ko.id.version === ko.version);
      const name = `${ko.naan}/${ko.name}`;
      if (active !== undefined)
        kos.set(`${name}/${ko.version}`, [name, ko.version, `sha256:${active.ko.entry.digest}`]);
    }
    return of('koInfo', (samples) => {
      for (const values of kos.values()) samples.add(1, ...values);
    });
  }

  *#ofEngines(): Generator<Samples> {
    const engines = [...this.#sources.engines.values()];
    const figures = [...figuresOf(this.#sources.engines)];
    const each = (key: FamilyKey, add: (samples: Samples, engine: string, figures: EngineFigures) => void): Samples =>
      of(key, (samples) => {
        for (const [engine, own] of figures) add(samples, engine, own);
      });
    yield each('queue', (samples, engine, { waiting }) => samples.add(waiting, engine));
    yield each('longestQueue', (samples, engine, { longestQueue }) => samples.add(longestQueue, engine));
    yield one('queueLimit', this.#sources.queueLimit);
    yield each('processes', (samples, engine, { processes, kinds }) => {
      for (const kind of kinds) samples.add(processes.filter((each) => each.kind === kind).length, kind, engine);
    });
    yield each('restarts', (samples, engine, { restarts }) => {
      for (const [kind, reason, count] of restarts) samples.add(count, kind, engine, reason);
    });
    yield each('isolates', (samples, engine, { isolates }) => {
      if (isolates !== undefined) samples.add(isolates, engine);
    });
    yield of('engineUp', (samples) => {
      for (const engine of engines) samples.add(engine.health().status === 'UP' ? 1 : 0, engine.name);
    });
    yield each('runtimes', (samples, engine, { runtimes }) => {
      if (runtimes === undefined) return;
      samples.add(runtimes.up, engine, 'up');
      samples.add(runtimes.down, engine, 'down');
    });
  }

  *#ofBatches(): Generator<Samples> {
    const { running, batches, records } = this.#sources.batches();
    yield one('batchesRunning', running);
    yield of('batches', (samples) => {
      for (const [outcome, count] of batches) samples.add(count, outcome);
    });
    yield of('batchRecords', (samples) => {
      for (const [outcome, count] of records) samples.add(count, outcome);
    });
    yield one('heldBytes', this.#sources.held());
  }

  *#ofActivation(): Generator<Samples> {
    const { measured, activator } = this.#sources;
    const { endpoints, failures } = activator.set;
    const counts = new Map<string, number>();
    for (const { entry, status } of endpoints) {
      const key = `${entry.engine} ${STATUS[status]}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    yield of('endpoints', (samples) => {
      for (const [key, count] of counts) samples.add(count, ...key.split(' '));
    });
    yield one('failedKos', failures.length);
    const triedAgain = Map.groupBy(activator.triedAgain, ({ entry }) => entry.engine);
    yield of('triedAgain', (samples) => {
      for (const engine of new Set(endpoints.map(({ entry }) => entry.engine)))
        samples.add(triedAgain.get(engine)?.length ?? 0, engine);
    });
    const activations = [...measured.activations].map(
      ([key, histogram]) => [labelsOf(FAMILIES.activations.labels, key.split(' ')), histogram] as const,
    );
    yield of('activations', (samples) => {
      for (const [labels, { count }] of activations) samples.addLabelled(labels, count);
    });
    yield of('activationDuration', (samples) => {
      for (const [labels, histogram] of activations) samples.addHistogram(labels, histogram);
    });
  }

  async #ofShelf(): Promise<Samples[]> {
    const { shelf, shelfFigures, measured, lostLines, auditLost, isConfined, isReady, build, fleet } = this.#sources;
    const node = fleet();
    const { kos, isReadable } = await shelfFigures.figures();
    return [
      one('shelfKos', kos),
      one('shelfDamaged', shelf.damage().length),
      one('shelfScrubbed', measured.scrubbed),
      one('shelfUp', isReadable && shelf.condition().problem === undefined ? 1 : 0),
      of('imports', (samples) => {
        for (const [outcome, count] of measured.imports) samples.add(count, outcome);
      }),
      of('hookAnswers', (samples) => {
        for (const [key, count] of measured.hookAnswers) samples.add(count, ...(JSON.parse(key) as string[]));
      }),
      of('loginsRefused', (samples) => {
        for (const [reason, count] of measured.loginsRefused) samples.add(count, reason);
      }),
      one('auditLost', auditLost()),
      one('lostLines', lostLines()),
      one('ready', isReady() ? 1 : 0),
      one('confinementUp', isConfined ? 1 : 0),
      of('build', (samples) => samples.add(1, build.version, build.commit, process.version)),
      of('fleetNode', (samples) => {
        if (node !== undefined) samples.add(1, node.fleet, node.name, node.id);
      }),
      one('fleetUp', node && (node.isUp ? 1 : 0)),
      of('fleetNodes', (samples) => {
        for (const [state, count] of Object.entries(node?.nodes ?? {})) samples.add(count, state);
      }),
      one('fleetGeneration', node?.generation),
      one('fleetRunNowhere', node?.runNowhere),
      one('fleetOtherHistory', node && (node.hasOtherHistory ? 1 : 0)),
    ];
  }

  async #ofProcess(): Promise<Samples[]> {
    const { processes } = this.#sources;
    const [{ memory, virtual, openFiles }, mostFiles] = await Promise.all([processes.figures(), processes.mostFiles()]);
    const { user, system } = process.cpuUsage();
    const { heapUsed, heapTotal, external, rss } = process.memoryUsage();
    return [
      of('processMemory', (samples) => {
        for (const [kind, engine, bytes] of memory) samples.add(bytes, kind, engine);
      }),
      one('cpu', (user + system) / 1e6),
      one('resident', rss),
      one('virtual', virtual),
      one('openFiles', openFiles),
      one('mostFiles', mostFiles),
      one('start', Math.round(performance.timeOrigin) / 1000),
      one('heapUsed', heapUsed),
      one('heapTotal', heapTotal),
      one('external', external),
      one('loopActive', performance.eventLoopUtilization().active / 1000),
    ];
  }
}

/** Of the engines that have some. */
export function* figuresOf(engines: EngineRegistry): Generator<[engine: string, EngineFigures]> {
  for (const engine of engines.values()) {
    const figures = engine.figures?.();
    if (figures !== undefined) yield [engine.name, figures];
  }
}

const STATUS = { LOADED: 'loaded', ACTIVATED: 'activated', FAILED_TO_ACTIVATE: 'failed' } as const;

function of(key: FamilyKey, add: (samples: Samples) => void): Samples {
  const samples = new Samples(key);
  add(samples);
  return samples;
}

const one = (key: FamilyKey, value: number | undefined): Samples =>
  of(key, (samples) => {
    if (value !== undefined) samples.add(value);
  });

function* histograms(key: FamilyKey, all: readonly (readonly [string, Histogram])[]): Generator<Collected> {
  const samples = new Samples(key);
  for (const [i, [labels, histogram]] of all.entries()) {
    samples.addHistogram(labels, histogram);
    if (i % HISTOGRAMS_AT_ONCE === HISTOGRAMS_AT_ONCE - 1) {
      yield samples;
      yield 'pause';
    }
  }
  yield samples;
}

// What the service and the processes that it started use. Reading it costs a call of the system for each process.

/** Milliseconds for which it counts. */
const FRESH_MS = 1000;

interface ProcessFigures {
  /** Resident bytes by kind and engine; of the service itself without one. */
  readonly memory: readonly (readonly [kind: string, engine: string, bytes: number])[];
  readonly virtual: number | undefined;
  readonly openFiles: number | undefined;
}

export class ProcessReader {
  readonly #engines: () => Iterable<readonly [engine: string, EngineFigures]>;
  #read: { readonly at: number; readonly figures: Promise<ProcessFigures> } | undefined;
  #mostFiles: Promise<number | undefined> | undefined;

  constructor(engines: () => Iterable<readonly [string, EngineFigures]>) {
    this.#engines = engines;
  }

  /** As they are, or were within the last second. */
  figures(): Promise<ProcessFigures> {
    const at = uptime();
    if (this.#read === undefined || at - this.#read.at >= FRESH_MS) this.#read = { at, figures: this.#readAll() };
    return this.#read.figures;
  }

  /** Files that the service may have open; undefined where there is no end, or the system does not tell. */
  mostFiles(): Promise<number | undefined> {
    return (this.#mostFiles ??= readFile('/proc/self/limits', 'latin1').then(
      (text) => numberIn(/^Max open files +(\d+)/m.exec(text)?.[1]),
      () => undefined,
    ));
  }

  async #readAll(): Promise<ProcessFigures> {
    const memory: [string, string, number][] = [['service', '', process.memoryUsage.rss()]];
    for (const [engine, { processes }] of this.#engines()) {
      const kinds = new Map<string, number>();
      for (const { kind, memory } of processes) kinds.set(kind, (kinds.get(kind) ?? 0) + memory());
      for (const [kind, bytes] of kinds) memory.push([kind, engine, bytes]);
    }
    const [files, status] = await Promise.all([
      readdir('/proc/self/fd').catch(() => undefined),
      readFile('/proc/self/status', 'latin1').catch(() => ''),
    ]);
    const kilobytes = numberIn(/^VmSize:\s+(\d+) kB/m.exec(status)?.[1]);
    return {
      memory,
      virtual: kilobytes === undefined ? undefined : kilobytes * 1024,
      // One of them is the folder that was read.
      openFiles: files && files.length - 1,
    };
  }
}

const numberIn = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));

// What lies on the shelf, and whether it can be read: looked at once a second at most, however often it is asked for.

/** Milliseconds after which a shelf that says nothing cannot be read. */
const LONGEST_WAIT_MS = 2000;

interface ShelfFigures {
  /** Undefined where it was never known. */
  readonly kos: number | undefined;
  readonly isReadable: boolean;
}

export class ShelfReader {
  readonly #shelf: Pick<Shelf, 'check' | 'revision' | 'list'>;
  readonly #longestWaitMs: number;
  #counted: { readonly revision: number; readonly kos: number } | undefined;
  #look: { readonly began: number; readonly figures: Promise<ShelfFigures> } | undefined;
  #isLooking = false;

  constructor(shelf: Pick<Shelf, 'check' | 'revision' | 'list'>, longestWaitMs = LONGEST_WAIT_MS) {
    this.#shelf = shelf;
    this.#longestWaitMs = longestWaitMs;
  }

  /** Never rejects, and waits for no disk that does not answer. */
  async figures(): Promise<ShelfFigures> {
    const began = uptime();
    if (!this.#isLooking && (this.#look === undefined || began - this.#look.began >= FRESH_MS))
      this.#look = { began, figures: this.#read() };
    const late = new AbortController();
    const unread = { kos: this.#counted?.kos, isReadable: false };
    const left = Math.max(0, (this.#look?.began ?? began) + this.#longestWaitMs - began);
    try {
      return await Promise.race([this.#look?.figures ?? unread, wait(left, unread, { signal: late.signal })]);
    } finally {
      late.abort();
    }
  }

  async #read(): Promise<ShelfFigures> {
    this.#isLooking = true;
    try {
      await this.#shelf.check();
      const revision = await this.#shelf.revision();
      // A list of ten thousand is made only after a change.
      if (this.#counted?.revision !== revision) this.#counted = { revision, kos: (await this.#shelf.list()).length };
      return { kos: this.#counted.kos, isReadable: true };
    } catch {
      return { kos: this.#counted?.kos, isReadable: false };
    } finally {
      this.#isLooking = false;
    }
  }
}
