import type { CallOrigin } from '../engines/call-token.ts';

/** Who asks. */
export interface Principal {
  /** The Basic user, or the token's `sub` (else `client_id`). */
  readonly name: string;
  /** `call`: code of a knowledge object that a runtime runs, without a login of its own. */
  readonly kind: 'dev' | 'basic' | 'oauth' | 'anonymous' | 'call';
  /** Of an OAuth token; empty for the others. */
  readonly scopes: readonly string[];
  /** Of an OAuth token: until when it counts, in milliseconds since 1970. */
  readonly until?: number;
  /** Of a call token: the call that it was given out with. */
  readonly origin?: CallOrigin;
}

export const ANONYMOUS: Principal = Object.freeze({ name: 'anonymous', kind: 'anonymous', scopes: [] });
/** Everybody in the dev profile. */
export const DEV: Principal = Object.freeze({ name: 'dev', kind: 'dev', scopes: [] });
