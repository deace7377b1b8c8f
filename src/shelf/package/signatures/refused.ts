/** A bundle, a trusted root or a key that is not accepted; the message says why, for people. */
export class SignatureRefused extends Error {
  override readonly name = 'SignatureRefused';
}

/** Runs what may meet hostile data in a library: whatever it throws, the data is refused. */
export function refusing<T>(what: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    if (cause instanceof SignatureRefused) throw cause;
    throw new SignatureRefused(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
