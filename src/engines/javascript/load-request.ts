/** What the engine and its program in a sandbox tell each other in the texts of frames. */

/** All that a sandbox needs to bring one endpoint to life. */
export interface LoadRequest {
  heapMb: number;
  maxResult: number;
  /** Milliseconds for compiling and for the top level. */
  limit: number;
  entry: string;
  function: string;
  freshContext: boolean;
  /** JavaScript and JSON, by path. */
  files: Record<string, string>;
  /** Why some of them cannot be loaded. */
  faults: Record<string, string>;
  /** Names of types that were taken out of them. */
  types: readonly string[];
  /** What `context.getProperty` knows. */
  properties: Record<string, string>;
}

/** To `find`: where the endpoint is. */
export type Found =
  | { kind: 'none' }
  | { kind: 'here'; slot: number; load?: LoadRequest; limit: number }
  | { kind: 'elsewhere' };
