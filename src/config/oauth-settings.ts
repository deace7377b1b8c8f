/** Issuers of OAuth 2.0 tokens, and what their tokens give. */
import { CLAIM_GRANT_FORM, type ClaimGrant, parseClaimGrant } from '../identity/claims.ts';
import { withoutSlash } from '../identity/issuer.ts';
import type { Issuer, OauthOptions } from '../identity/login.ts';
import { startRefused } from '../lib/errors.ts';
import { type SettingReader, toUrl } from './setting.ts';

/** @throws startRefused. */
export function oauthOf(read: SettingReader): OauthOptions | undefined {
  const issuers = read.list('oauth-issuer').map((each) => toUrl(each.trim(), read.source('oauth-issuer')));
  const audiences = read.list('oauth-audience').map((each) => each.trim());
  const scope = read.text('oauth-scope');
  const nameClaim = read.text('oauth-name-claim');
  const isAsked = [issuers, audiences, read.list('oauth-grant')].some((each) => each.length > 0);
  if (!isAsked && scope === undefined && nameClaim === undefined) return undefined;
  if (issuers.length === 0 || audiences.length === 0)
    throw startRefused(
      `--${issuers.length === 0 ? 'oauth-issuer' : 'oauth-audience'} is missing: bearer tokens need both an issuer and an audience`,
    );
  if (audiences.length > 1 && audiences.length !== issuers.length)
    throw startRefused(
      `${read.source('oauth-audience')} has ${audiences.length} values for ${issuers.length} issuers: give one for all, or one for each`,
    );
  const all = issuers.map((issuer, at): Issuer => ({ issuer, audience: audiences[at] ?? audiences[0] ?? '' }));
  const [first = { issuer: '', audience: '' }, ...others] = all;
  const grants = read.isGiven('oauth-grant') ? grantsOf(read, issuers) : undefined;
  return {
    ...first,
    ...(others.length > 0 && { others }),
    ...(scope !== undefined && { scope }),
    ...(grants !== undefined && { grants }),
    ...(nameClaim !== undefined && { nameClaim }),
  };
}

function grantsOf(read: SettingReader, issuers: readonly string[]): readonly ClaimGrant[] {
  const source = read.source('oauth-grant');
  return read.list('oauth-grant').map((text) => {
    const row = parseClaimGrant(text);
    if (row === undefined) throw startRefused(`${source} is '${text}', but must be ${CLAIM_GRANT_FORM}`);
    const { issuer } = row;
    if (issuer !== undefined && !issuers.some((each) => withoutSlash(each) === issuer))
      throw startRefused(`${source} names the issuer ${issuer}, which --oauth-issuer does not`);
    return row;
  });
}
