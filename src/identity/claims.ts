/** What the claims of a token give: a name, and grants by the table in the settings. */
import type { JWTPayload } from 'jose';
import { Grants, isGrant, GRANT_FORM } from './grants.ts';
import type { OauthOptions } from './login.ts';
import { withoutSlash } from './issuer.ts';

/** A row of the table: who has this value in this claim has this grant. */
export interface ClaimGrant {
  /** Without a slash at its end; undefined: of any issuer that is configured. */
  readonly issuer: string | undefined;
  /** Its parts, from outside. `scope` stands for `scp` too. */
  readonly claim: readonly string[];
  readonly value: string;
  readonly grant: string;
}

const MAX_NAME_LENGTH = 200;

/** How a row is written, for messages. */
export const CLAIM_GRANT_FORM = `[<issuer> ]<claim>:<value>=<grant>, where a grant is ${GRANT_FORM}`;

/** Undefined for what is no row. */
export function parseClaimGrant(text: string): ClaimGrant | undefined {
  const [, issuer, claim = '', value = '', grant = ''] =
    /^(?:(https?:\/\/\S+)\s+)?([^\s:=]+):(.+)=([^=]+)$/.exec(text.trim()) ?? [];
  if (claim === '' || !isGrant(grant.trim())) return undefined;
  return {
    issuer: issuer === undefined ? undefined : withoutSlash(issuer),
    ...{ claim: claim.split('.'), value, grant: grant.trim() },
  };
}

/** Who has all of `scope` may do all; without a table, others do what changes nothing. */
export function grantsOf(claims: JWTPayload, issuer: string, { scope = '', grants }: OauthOptions): Grants {
  const scopes = valuesOf(claims, ['scope']);
  const needed = scope.split(' ').filter((each) => each !== '');
  const hasAll = needed.every((each) => scopes.includes(each));
  if (grants === undefined) return hasAll ? OPERATOR : LOOKS_ON;
  if (needed.length > 0 && hasAll) return OPERATOR;
  const fitting = grants.filter(
    (row) => (row.issuer ?? issuer) === issuer && valuesOf(claims, row.claim).includes(row.value),
  );
  return Grants.of(fitting.map(({ grant }) => grant));
}

const OPERATOR = Grants.of(['operator']);
const LOOKS_ON = Grants.permitting(['caller'], ['runtime-list', 'ko-details', 'info', 'metrics']);

/** `claim`: that of choice, before the usual ones. */
export function nameOf(claims: JWTPayload, claim?: string): string {
  const [chosen] = claim === undefined ? [] : valuesOf(claims, [claim]);
  const name = [chosen, claims.sub, claims['client_id'], claims['azp']].find((each) => typeof each === 'string');
  return typeof name === 'string' ? name.slice(0, MAX_NAME_LENGTH) : 'unnamed';
}

/** `scope` is text divided by spaces (RFC 9068); some issuers write `scp`, as text or as a list. Other claims are whole. */
function valuesOf(claims: JWTPayload, [first = '', ...rest]: readonly string[]): string[] {
  if (first === 'scope' && rest.length === 0)
    return [claims['scope'], claims['scp']]
      .flat()
      .flatMap((claim) => (typeof claim === 'string' ? claim.split(' ') : []))
      .filter((scope) => scope !== '');
  let value: unknown = Object.hasOwn(claims, first) ? claims[first] : undefined;
  for (const part of rest)
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, part)
        ? (value as Record<string, unknown>)[part]
        : undefined;
  return [value].flat().filter((each) => typeof each === 'string');
}
