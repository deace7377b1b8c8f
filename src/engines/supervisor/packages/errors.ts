/** What goes wrong while code is brought in: sentences for the author of a knowledge object or the operator. */
import { messageOf } from '../../../lib/errors.ts';
import { ActivationFailure } from '../../engine.ts';

export const activationFailed = (description: string): ActivationFailure => new ActivationFailure(description);

/** The code of a system error (`ENOENT`), or undefined. */
export const codeOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;

export const megabytes = (bytes: number): string => `${Math.round(bytes / 10_000) / 100} MB`;

/** Errors of the system and of npm that are about the network or the disk. */
const CODES = [
  'ECONNREFUSED|ECONNRESET|ECONNABORTED|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EPIPE|ETIMEDOUT|ESOCKETTIMEDOUT',
  'ERR_SOCKET_TIMEOUT|EAI_AGAIN|ENOTFOUND|E429|E5\\d\\d|ENOSPC|EDQUOT|EMFILE|ENFILE|ENOMEM|EIO|EAGAIN|SIGKILL',
].join('|');
/** The same in the words of npm, of pip and of the installers. */
const WORDS = [
  'cannot be reached|connection (?:broken|refused|reset|aborted)|timed? ?out|limit of [\\d.]+ (?:s|seconds|min|minutes)\\b',
  'no space left|quota exceeded|too many open files|temporary failure in name resolution',
  'HTTP error (?:429|5\\d\\d)|\\b(?:429|5\\d\\d) (?:Server|Client) Error',
].join('|');
const UNKNOWN_AUTHORITY =
  /SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER|VERIFY)|CERTIFICATE_VERIFY_FAILED|self.signed certificate/i;
const MAY_PASS = new RegExp(`\\b(?:${CODES})\\b|${WORDS}`, 'i');

const ADVICE =
  'the certificate of the registry, or of a proxy before it, is of an authority that is not known here: give its file to the service with NODE_EXTRA_CA_CERTS (npm) and PIP_CERT (pip)';

/** What is thrown for an installation that failed. */
export function installFailure(thrown: unknown): ActivationFailure {
  const text = messageOf(thrown);
  const isOfCertificate = UNKNOWN_AUTHORITY.test(text);
  const mayPass = isOfCertificate || MAY_PASS.test(`${codeOf(thrown) ?? ''} ${text}`);
  const said =
    thrown instanceof ActivationFailure ? text : `the code could not be brought in: ${codeOf(thrown) ?? text}`;
  return new ActivationFailure(isOfCertificate ? `${said}; ${ADVICE}` : said, { mayPass });
}

/** Codes of a folder in which nothing can be made: a read-only disk, or a user without a home. */
const UNWRITABLE = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR']);

/** What is thrown where the folder of the engine itself, for its packages and programs, could not be made. */
export function openFailure(thrown: unknown): ActivationFailure {
  const code = codeOf(thrown);
  if (code === undefined || !UNWRITABLE.has(code)) return installFailure(thrown);
  return new ActivationFailure(
    `the folder for what the engine needs cannot be written to (${code}): let the user of the service write to the shelf or to the folder of --state, and that of kgrid to its home, or set HOME to a folder where it can`,
    { mayPass: true },
  );
}
