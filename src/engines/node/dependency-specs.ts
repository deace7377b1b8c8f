/**
 * What dependencies are written as, read as npm reads it, in any case of letters. npm gets each in one spelling, from here, so
 * that it cannot understand something else.
 */
import { posix } from 'node:path';
import { activationFailed } from '../supervisor/packages/errors.ts';

/** Where a dependency is written. */
export interface SpecPlace {
  /** The file, for people. */
  readonly file: string;
  /** Its folder, from that of the `package.json` which is installed. */
  readonly folder: string;
}

/** The dependencies of a knowledge object, which are added one by one. */
export class DependencySpecs {
  /** By what is fetched, `host:port`, with the first that asks for it. */
  readonly hosts = new Map<string, string>();
  /** Addresses of packages that are fetched from elsewhere than a registry. */
  readonly remotes = new Set<string>();
  /** Each as a sentence begins. */
  readonly fromGit: string[] = [];
  /** Whether it depends on files of the knowledge object itself. */
  usesOwnFiles = false;
  /** Whether these files depend on others of the knowledge object. */
  areNested = false;

  /** @returns the spelling for npm. @throws ActivationFailure where it is not understood or leaves the knowledge object. */
  add(name: string, spec: unknown, place: SpecPlace): string {
    const what = `The dependency ${name.slice(0, MOST_SHOWN)} of ${place.file}`;
    if (!isPackageName(name)) throw activationFailed(`${what} has a name that no package has`);
    if (typeof spec !== 'string' || spec.length > MOST_CHARACTERS) throw notUnderstood(what, '');
    const text = spec.trim().replace(/\s+/g, ' ');
    if (isRange(text)) return text;
    if (/^npm:/i.test(text)) {
      const [, alias = '', range = ''] = /^((?:@[\w.~-]{1,214}\/)?[\w.~-]{1,214})(?:@(.*))?$/.exec(text.slice(4)) ?? [];
      if (!isPackageName(alias) || !isRange(range)) throw notUnderstood(what, text);
      return `npm:${alias}@${range === '' ? '*' : range}`;
    }
    if (isGit(text)) return this.#addGit(text, what);
    if (/^https?:/i.test(text)) return this.#addRemote(text, what);
    if (/^(?:file|link):/i.test(text) || !text.includes(':')) return this.#addOwn(text, what, place);
    throw notUnderstood(what, text);
  }

  /** @returns the path of a file or folder of the knowledge object, as it is for npm. @throws ActivationFailure. */
  addPath(path: string, what: string, { folder }: SpecPlace): string {
    this.usesOwnFiles = true;
    if (folder !== '') this.areNested = true;
    // npm decodes what is written as in an address.
    if (/[%?#\\\p{Cc}]/u.test(path))
      throw activationFailed(`${what} is a path with characters that are not taken: use letters, digits, - and _`);
    const target = posix.normalize(path);
    if (/^(\/|~|\.\.(\/|$))/.test(target) || posix.join(folder, target).startsWith('..'))
      throw activationFailed(`${what} is outside of the knowledge object`);
    return target;
  }

  #addOwn(text: string, what: string, place: SpecPlace): string {
    return `file:${this.addPath(text.replace(/^(?:file|link):/i, ''), what, place)}`;
  }

  #addRemote(text: string, what: string): string {
    const url = URL.parse(text);
    if (url === null || url.username !== '' || url.password !== '') throw notUnderstood(what, '');
    const port = url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : Number(url.port);
    this.hosts.set(`${url.hostname}:${port}`, `${what} comes from ${url.hostname}`);
    this.remotes.add(url.href);
    return url.href;
  }

  #addGit(text: string, what: string): string {
    const host = gitHost(text);
    if (host === undefined) throw notUnderstood(what, '');
    this.fromGit.push(what);
    this.hosts.set(host, `${what} comes from ${host}`);
    // Without these, npm takes it for a path or for an archive.
    if (/^https?:/i.test(text)) return `git+${text}`;
    return OF_SSH.test(text) && !/^ssh:/i.test(text) ? `git+ssh://${text}` : text;
  }
}

const MOST_CHARACTERS = 1000;
const MOST_SHOWN = 100;

const notUnderstood = (what: string, text: string): Error =>
  activationFailed(
    `${what} is not understood${text === '' ? '' : `: ${text.slice(0, MOST_SHOWN)}`}; give a version, a range, or a path of the knowledge object`,
  );

export const isPackageName = (name: string): boolean =>
  name.length <= 214 && /^(?:@[\w.~-]+\/)?[\w.~-]+$/.test(name) && !/^\.|\/\.|^node_modules$/.test(name);

/** A version, a range or a tag: npm takes what begins like a path or ends like an archive for a file. */
export const isRange = (text: string): boolean =>
  /^[\w.+*<>=~^|, -]*$/.test(text) && !text.startsWith('.') && !/\.(?:tgz|tar|tar\.gz)$/i.test(text);

/** Whose addresses npm takes for repositories, and how they are written in short. */
const GIT_HOSTS: Readonly<Record<string, string>> = {
  github: 'github.com',
  gitlab: 'gitlab.com',
  bitbucket: 'bitbucket.org',
  gist: 'gist.github.com',
  sourcehut: 'git.sr.ht',
};
const isGitHost = (host: string): boolean => Object.values(GIT_HOSTS).includes(host.replace(/^www\./, ''));
const SHORT = /^(github|gitlab|bitbucket|gist|sourcehut):/i;
/** `user/repository`. */
const SHORTEST = /^[^\s/:@.~][^\s/:@]*\/[^\s/:@#]+(?:#.*)?$/;
/** `user@host:path`. */
const OF_SSH = /^(?:ssh:\/\/)?[\w.-]+@([\w-]+(?:\.[\w-]+)+):(?!\/)/i;

function isGit(text: string): boolean {
  if (SHORT.test(text) || SHORTEST.test(text) || OF_SSH.test(text) || /^(?:git[+:]|ssh:)/i.test(text)) return true;
  const url = /^https?:/i.test(text) ? URL.parse(text) : null;
  if (url === null) return false;
  const steps = url.pathname.split('/').filter((step) => step !== '');
  return url.pathname.endsWith('.git') || (isGitHost(url.hostname) && steps.length <= 2);
}

const PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'http:': 80, 'ssh:': 22, 'git:': 9418 };

function gitHost(text: string): string | undefined {
  const short = SHORT.exec(text)?.[1]?.toLowerCase() ?? (SHORTEST.test(text) ? 'github' : undefined);
  if (short !== undefined) return `${GIT_HOSTS[short] ?? ''}:443`;
  const plain = text.replace(/^git\+/i, '');
  const host = OF_SSH.exec(plain)?.[1]?.toLowerCase();
  if (host !== undefined) return `${host}:${isGitHost(host) ? 443 : 22}`;
  const url = URL.parse(plain);
  const port = isGitHost(url?.hostname ?? '') ? 443 : PORTS[url?.protocol ?? ''];
  return url === null || port === undefined || url.hostname === '' ? undefined : `${url.hostname}:${url.port || port}`;
}
