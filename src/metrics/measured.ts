/** What is counted as it happens; the rest is read when it is asked for. */
import type { Endpoint } from '../activation/endpoint.ts';
import { Tally } from '../lib/tally.ts';
import { Executions } from './executions.ts';
import { ACTIVATION_BOUNDS, Histogram } from './histogram.ts';
import { Requests } from './requests.ts';

export interface MeasuredOptions {
  /** Endpoints with series of their own. */
  readonly endpoints: number;
  /** Methods of requests that have series of their own. */
  readonly methods: Iterable<string>;
}

/** Why a request was refused for its login: there was none, it was wrong, may not do this, or could not be checked. */
const LOGIN_REFUSALS = ['missing', 'wrong', 'scope', 'unchecked'];

export class Measured {
  readonly executions: Executions;
  readonly requests: Requests;
  readonly imports = new Tally<string>(['done']);
  readonly loginsRefused = new Tally(LOGIN_REFUSALS);
  /** Of endpoints, so far. */
  activationCount = 0;
  /** Packages that were read to find damage. */
  scrubbed = 0;
  /** By engine and result. */
  readonly activations = new Map<string, Histogram>();

  constructor({ endpoints, methods }: MeasuredOptions) {
    this.executions = new Executions(endpoints);
    this.requests = new Requests(methods);
  }

  /** An endpoint was activated, or could not be. */
  activated({ entry, status }: Pick<Endpoint, 'entry' | 'status'>, milliseconds: number): void {
    this.activationCount++;
    const key = `${entry.engine} ${status === 'ACTIVATED' ? 'activated' : 'failed'}`;
    let histogram = this.activations.get(key);
    if (histogram === undefined) this.activations.set(key, (histogram = new Histogram(ACTIVATION_BOUNDS)));
    histogram.observe(milliseconds / 1000);
  }
}
