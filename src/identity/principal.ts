import type { CallOrigin } from '../engines/call-token.ts';
import { Grants } from './grants.ts';

/** Who asks. */
export interface Principal {
  /** The user, the prefix of a key, the subject of a certificate, or what the token says. */
  readonly name: string;
  /** `call`: code of a knowledge object that a runtime runs, without a login of its own. */
  readonly kind: 'dev' | 'basic' | 'key' | 'oauth' | 'certificate' | 'anonymous' | 'call';
  /** What it may, with what everybody may. */
  readonly grants: Grants;
  /** Until when its login counts, in milliseconds since 1970. */
  readonly until?: number;
  /** Of a call token: the call that it was given out with. */
  readonly origin?: CallOrigin;
}

/** Who it is, for logs and answers; undefined where that says nothing. */
export const namedIn = (principal: Principal | undefined): { who: string; login: string } | undefined =>
  principal === undefined || NAMELESS.has(principal.kind) ? undefined : { who: principal.name, login: principal.kind };

const NAMELESS: ReadonlySet<string> = new Set(['anonymous', 'call', 'dev']);

/** Without a login, where that gives nothing. */
export const ANONYMOUS: Principal = Object.freeze({ name: 'anonymous', kind: 'anonymous', grants: Grants.NONE });
/** Everybody in the dev profile. */
export const DEV: Principal = Object.freeze({ name: 'dev', kind: 'dev', grants: Grants.of(['operator']) });
