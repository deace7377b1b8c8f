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
  files: Record<string, string>;
  /** What `context.getProperty` knows. */
  properties: Record<string, string>;
}

/** To `find`: where the endpoint is. */
export type Found =
  { kind: 'none' } | { kind: 'here'; slot: number; load?: LoadRequest; limit: number } | { kind: 'elsewhere' };
