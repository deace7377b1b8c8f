/** What the web platform in an isolate asks of its host; see `platform.js`. */
import { createHash, randomBytes } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const PARTS = new Map(
  ['clone', 'crypto', 'encoding', 'events', 'exceptions', 'url'].map((name) => [
    name,
    readFileSync(new URL(`./platform/${name}.js`, import.meta.url), 'utf8'),
  ]),
);
const MOST_RANDOM = 65_536;
const ALGORITHMS = new Set(['sha1', 'sha256', 'sha384', 'sha512']);
/** Nothing else of the code runs between the parts of one digest. */
let hash: Hash | undefined;

const QUESTIONS = {
  part: (name: string): string => PARTS.get(name) ?? '',
  /** Milliseconds since the process began, in tenths. */
  now: (): number => Math.floor(performance.now() * 10) / 10,
  random: (count: string): string => randomBytes(Math.min(Number(count) || 0, MOST_RANDOM)).toString('hex'),
  hash: (step: string, text: string): string => {
    if (step === 'begin') hash = ALGORITHMS.has(text) ? createHash(text) : undefined;
    else if (step === 'update') hash?.update(text, 'latin1');
    else {
      const digest = hash?.digest('hex') ?? '';
      hash = undefined;
      return digest;
    }
    return '';
  },
  url: (_: string, asked: string): string => {
    const url = urlOf(JSON.parse(asked) as string[]);
    if (url === undefined) return '';
    const { href, origin, protocol, username, password, host, hostname, port, pathname, search, hash: fragment } = url;
    return JSON.stringify({
      ...{ href, origin, protocol, username, password, host, hostname, port, pathname, search },
      hash: fragment,
    });
  },
};

type PlatformQuestion = keyof typeof QUESTIONS;

export const isOfPlatform = (question: string): question is PlatformQuestion => Object.hasOwn(QUESTIONS, question);

export const answerPlatform = (question: PlatformQuestion, id: string, body: string): string | number =>
  QUESTIONS[question](id, body);

const SETTABLE = new Set(
  'href protocol username password host hostname port pathname search hash'.split(' '),
) as ReadonlySet<string>;

/** `["new", url, base?]`, or `["set", href, name, value]`; undefined where it is none. */
function urlOf([how, text = '', ...more]: string[]): URL | undefined {
  try {
    if (how === 'new') return new URL(text, more[0]);
    const url = new URL(text);
    const [name = '', value = ''] = more;
    if (!SETTABLE.has(name)) return undefined;
    url[name as 'href'] = value;
    return url;
  } catch {
    return undefined;
  }
}
