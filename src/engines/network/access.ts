/** The network as workers see it; apart from what gives it, which the runtime on other machines does without. */

/** The network of one knowledge object, for as long as its workers live. */
export interface NetworkAccess extends AsyncDisposable {
  /** What its workers may connect to by TCP. */
  readonly ports: readonly number[];
  /** What its workers get beside their own environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Files that this names. */
  readonly files: readonly string[];
  /** What failed, with what the operator could do where it failed for want of the network. */
  explain(description: string): string;
}

/** The access of knowledge objects without a permission. */
export const NO_NETWORK: NetworkAccess = {
  ports: [],
  environment: {},
  files: [],
  explain: (description) => description,
  [Symbol.asyncDispose]: () => Promise.resolve(),
};
