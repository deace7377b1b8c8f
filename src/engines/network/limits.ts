/** What one knowledge object may take of the network at a time. */
export interface NetworkLimits {
  /** Most bytes of the head of a request. */
  readonly headerBytes: number;
  /** Milliseconds in which that must have come. */
  readonly headersMs: number;
  readonly connections: number;
  /** Milliseconds for a name to be resolved, and again for the connection to be made. */
  readonly connectMs: number;
  /** Milliseconds without a byte in either direction. */
  readonly idleMs: number;
  /** Milliseconds without data after one side has sent all. */
  readonly halfOpenMs: number;
}

export const NETWORK_LIMITS: NetworkLimits = {
  headerBytes: 16 * 1024,
  headersMs: 10_000,
  connections: 64,
  connectMs: 10_000,
  idleMs: 300_000,
  halfOpenMs: 30_000,
};
