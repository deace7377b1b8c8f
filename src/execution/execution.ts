/**
 * The execution core: finds endpoints, calls them, accounts for memory and measures, whatever protocol a call comes by.
 * Nothing here knows of HTTP.
 */
import type { Activator } from '../activation/activator.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import type { Identity } from '../identity/identity.ts';
import { outcomeOf } from '../lib/errors.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { BatchCounts } from './batch/run-records.ts';
import type { CallChecks } from './call-checks.ts';
import { type CallOutcome, Calls, type CallTracer } from './calls.ts';
import type { ExecutionLog } from './execution-log.ts';
import type { FailedCalls } from './failed-calls.ts';
import { EndpointFinder } from './find-endpoint.ts';
import { HeldBytes } from './held-bytes.ts';
import type { Provenance } from './provenance.ts';

export interface ExecutionOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  readonly identity: Identity;
  readonly checks: CallChecks | undefined;
  readonly failures: FailedCalls;
  /** Where each call leaves a line in the log. */
  readonly log: ExecutionLog | undefined;
  /** Undefined where nothing is traced. */
  readonly tracer: CallTracer | undefined;
  /** Where answers are to tell how they came about. */
  readonly provenance: Provenance | undefined;
  /** Bytes of all bodies and answers together. */
  readonly mostHeld: number;
  /** While it is true, what is not known may yet come. */
  readonly arriving: () => boolean;
  /** Takes what each call took; `calls`: that so many took as long each. */
  readonly observe: (endpoint: Endpoint, outcome: CallOutcome, seconds: number, calls: number) => void;
  /** What the service says of an endpoint, as JSON text. */
  readonly describe: (endpoint: Endpoint) => string;
}

export class Execution implements Disposable {
  readonly activator: Activator;
  readonly identity: Identity;
  readonly provenance: Provenance | undefined;
  readonly held: HeldBytes;
  readonly calls: Calls;
  readonly finder: EndpointFinder;
  /** What is counted of batches. */
  readonly batches = new BatchCounts();
  readonly #failures: FailedCalls;
  #executed = 0;

  constructor(options: ExecutionOptions) {
    const { activator, shelf, failures, arriving, observe } = options;
    this.activator = activator;
    this.identity = options.identity;
    this.provenance = options.provenance;
    this.held = new HeldBytes(options.mostHeld);
    this.#failures = failures;
    this.calls = new Calls({
      identity: options.identity,
      held: this.held,
      failures,
      checks: options.checks,
      executions: options.log,
      tracer: options.tracer,
      describe: options.describe,
      observe: (endpoint, outcome, _start, milliseconds, calls) => {
        this.#executed += calls;
        observe(endpoint, outcome, milliseconds / 1000, calls);
      },
    });
    this.finder = new EndpointFinder({
      activator,
      shelf,
      arriving,
      onNotActive: (endpoint, refusal) => {
        failures.note(refusal, { endpoint, trace: undefined, input: '', json: false });
        observe(endpoint, outcomeOf(refusal), 0, 1);
      },
    });
  }

  /** Calls so far. */
  get executed(): number {
    return this.#executed;
  }

  [Symbol.dispose](): void {
    this.#failures[Symbol.dispose]();
  }
}
