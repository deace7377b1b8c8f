/** What the commands ask of an activator, over HTTP. */
import { createWriteStream } from 'node:fs';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Answer, readAnswer, type Sent, wordsOf } from '../../src/check/answers.ts';
import { koKey, parseKoId } from '../../src/knowledge-object/id.ts';
import { messageOf } from '../../src/lib/errors.ts';
import { type Fields, fieldsOf } from '../../src/lib/json.ts';
import { withoutEndSlashes } from '../../src/lib/text.ts';
import { bytes } from '../../src/shelf/archive/archive.ts';
import { CommandFailure, EXIT, ioFailure } from './exit.ts';

/** One endpoint as `GET /endpoints` shows it. */
export interface ListedEndpoint {
  /** `<naan>/<name>/<apiVersion>/<endpoint>`. */
  readonly id: string;
  /** `<naan>/<name>/<version>`. */
  readonly ko: string;
  readonly engine: string;
  readonly status: string;
  readonly detail: string | undefined;
}

/** One knowledge object as `GET /kos` shows it. */
export interface ListedKo {
  /** `<naan>/<name>/<version>`. */
  readonly key: string;
  readonly title: string | undefined;
}

/** How a command shows who it is. */
export interface Login {
  /** In words, such as `the user ann`. */
  readonly who: string;
  /** The `Authorization` header. */
  readonly authorization: string;
}

/** Entries of a page. */
const PAGE_ENTRIES = 1000;

export class ActivatorClient {
  /** Without a slash at its end. */
  readonly url: string;
  /** Undefined without one. */
  readonly login: string | undefined;
  /** The header. */
  readonly authorization: string | undefined;

  constructor(url: string, login?: Login) {
    this.url = withoutEndSlashes(url);
    this.login = login?.who;
    this.authorization = login?.authorization;
  }

  /** @throws CommandFailure when the activator cannot be reached. */
  async send(path: string, sent: Sent = {}): Promise<Answer> {
    return this.#exchange(path, sent, readAnswer);
  }

  /**
   * Writes what a path gives to a new file, where the answer is 200; else gives the answer.
   * @throws CommandFailure also when it is larger than `limit`.
   */
  async download(path: string, accept: string, file: string, limit: number): Promise<Answer> {
    return this.#exchange(path, { headers: { accept } }, async (response) => {
      const { status, headers, body } = response;
      if (status !== 200 || body === null) return readAnswer(response);
      const what = `${this.url}${path}`;
      await pipeline(Readable.fromWeb(body), upTo(limit, what), createWriteStream(file, { flags: 'wx' }));
      return { status, headers, body: '' };
    });
  }

  /** `ko`: `<naan>/<name>/<version>`. @throws CommandFailure as `endpoints`. */
  async endpointsOf(ko: string): Promise<ListedEndpoint[]> {
    return (await this.endpoints(`/kos/${ko}`)).filter((each) => each.ko === ko);
  }

  /** `search`: what an activator that knows it may leave out all others by. @throws CommandFailure when the answer is not that of an activator. */
  async endpoints(search?: string): Promise<ListedEndpoint[]> {
    return (await this.#list('/endpoints', search)).map((each) => ({
      id: textOf(each['@id']).replace(/^\//, ''),
      ko: textOf(each['knowledgeObject']).replace(/^\/?kos\//, ''),
      engine: textOf(each['engine']),
      status: textOf(each['status']),
      detail: typeof each['detail'] === 'string' ? each['detail'] : undefined,
    }));
  }

  /** Those that are on its shelf; what has no id is none. @throws CommandFailure as `endpoints`. */
  async knowledgeObjects(): Promise<ListedKo[]> {
    return (await this.#list('/kos')).flatMap((each) => {
      const id = parseKoId(textOf(each['@id']));
      const { title } = each;
      return id === undefined ? [] : [{ key: koKey(id), title: typeof title === 'string' ? title : undefined }];
    });
  }

  /** Reads page by page; an activator that knows no pages gives the whole list at once. */
  async #list(list: string, search?: string): Promise<Fields[]> {
    const query = new URLSearchParams({ limit: String(PAGE_ENTRIES), ...(search === undefined ? {} : { q: search }) });
    const entries: Fields[] = [];
    const asked = new Set<string>();
    for (let path: string | undefined = `${list}?${query.toString()}`; path !== undefined;) {
      asked.add(path);
      const answer: Answer = await this.send(path);
      const { status, body } = answer;
      if (status !== 200 || !Array.isArray(body)) throw this.strange(`GET ${path}`, answer);
      for (const each of body) entries.push(fieldsOf(each));
      path = this.#nextOf(list, answer);
      if (path !== undefined && asked.has(path))
        throw this.strange(`GET ${path}`, { status, body: { Error: 'its Link leads round in a circle' } });
    }
    return entries;
  }

  /** The page to which an answer leads, in the same list: the login goes nowhere else. */
  #nextOf(list: string, { headers, status }: Answer): string | undefined {
    const link = headers.get('link');
    const [, target] = /^<([^<>]*)>; rel="next"$/.exec(link ?? '') ?? [];
    if (target === undefined) return undefined;
    const next = URL.parse(target, this.url + list);
    if (next?.origin !== new URL(this.url).origin || !next.pathname.endsWith(list))
      throw this.strange(`GET ${list}`, { status, body: { Error: `its Link leads elsewhere: ${target}` } });
    return list + next.search;
  }

  /** What to say where an answer is not that of an activator. */
  strange(request: string, answer: Pick<Answer, 'status' | 'body'>): Error {
    return ioFailure(`${this.url} does not answer as an activator does: ${request} gave ${wordsOf(answer)}`);
  }

  async #exchange<T>(
    path: string,
    { method = 'GET', headers = {}, body }: Sent,
    use: (response: Response) => Promise<T>,
  ): Promise<T> {
    // What comes from a package or another activator may be anything; the login goes where the path says.
    if (LEADS_ELSEWHERE.test(path)) throw ioFailure(`${this.url} is not asked for ${path}, which leads elsewhere`);
    try {
      const response = await fetch(this.url + path, {
        method,
        headers: {
          accept: 'application/json',
          ...(this.authorization === undefined ? {} : { authorization: this.authorization }),
          ...headers,
        },
        redirect: 'manual',
        ...(body === undefined ? {} : { body }),
      });
      return await use(response);
    } catch (thrown) {
      if (!isOfConnection(thrown)) throw thrown;
      const cause = thrown.cause instanceof Error ? thrown.cause : thrown;
      const code = (cause as NodeJS.ErrnoException).code;
      const why = code === 'ECONNREFUSED' ? 'nothing listens there' : messageOf(cause);
      throw ioFailure(`Cannot reach the activator at ${this.url}: ${why}`, thrown);
    }
  }
}

/** Parts of a path that lead to another one than is written. */
const LEADS_ELSEWHERE = /^[^?]*(?:\/(?:\.|%2e){1,2}(?:[/?#]|$)|\\)/i;

/** `fetch` throws a TypeError whatever happened to the connection. */
const isOfConnection = (thrown: unknown): thrown is TypeError => thrown instanceof TypeError;

function upTo(limit: number, what: string): Transform {
  let received = 0;
  return new Transform({
    transform(chunk: Buffer, _, done) {
      received += chunk.length;
      if (received > limit)
        done(ioFailure(`${what} gives more than ${bytes(limit)}, the most that a package may have`));
      else done(null, chunk);
    },
  });
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

// What to say where an activator does not do what it is asked.

/** @param what such as `does not take <id>`. */
export function refusal(answer: Answer, { url, login }: ActivatorClient, what: string): CommandFailure {
  const words = wordsOf(answer);
  if (answer.status === 401) {
    return ioFailure(
      login === undefined
        ? `${url} asks for a login: set KGRID_USER and KGRID_PASSWORD, or KGRID_TOKEN (${words})`
        : `${url} refused the login of ${login}: check it (${words})`,
    );
  }
  if (answer.status === 403) return ioFailure(`${url} does not let this login do that (${words})`);
  const isOurs = answer.status === 400 || answer.status === 413;
  return new CommandFailure(isOurs ? EXIT.problems : EXIT.unreachable, `${url} ${what}: ${words}`);
}

/** A knowledge object that an activator does not have. */
export const notThere = (key: string, { url }: ActivatorClient): CommandFailure =>
  new CommandFailure(EXIT.problems, `There is no ${key} at ${url}: "kgrid list" says what there is`);
