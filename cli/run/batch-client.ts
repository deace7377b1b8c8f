/** Sends records as NDJSON, a piece of them in one request, and sends again what was not answered. */
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, type Dispatcher, request } from 'undici';
import { messageOf } from '../../src/lib/errors.ts';
import { STATUS_CODES } from '../../src/lib/http-module.ts';
import { fieldsOf, jsonOr } from '../../src/lib/json.ts';
import { count } from '../lib/terminal.ts';
import { DIGEST_HEADER, isOfRecords, RECORDS_TYPE } from './endpoint.ts';
import { RunStopped } from './output.ts';

export interface BatchClientOptions {
  readonly url: string;
  readonly authorization: string | undefined;
  /** Digest of the package that answered first. */
  readonly digest: string | undefined;
  /** How often what was not answered is sent again, without any answer in between. */
  readonly retries: number;
  readonly connections: number;
  /** Hears why it waits; of nothing when it goes on. */
  readonly onWait: (why: string | undefined) => void;
  readonly signal: AbortSignal;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** "Backoff on 429, 502, 503, 504 and broken connections." */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** Status of an endpoint that a starting service does not have yet. */
const NOT_YET = 404;
const MOST_ERROR_BYTES = 64 * 1024;
/** Silence of which is told, again and again. */
const SILENT_MS = 10_000;

/** What may be otherwise in a while. */
class TransientFailure extends Error {
  readonly afterSeconds: number;

  constructor(message: string, afterSeconds = 0) {
    super(message);
    this.afterSeconds = afterSeconds;
  }
}

export class BatchClient implements AsyncDisposable {
  readonly #options: BatchClientOptions;
  readonly #agent: Agent;

  constructor(options: BatchClientOptions) {
    this.#options = options;
    this.#agent = new Agent({ connections: options.connections, pipelining: 1 });
  }

  /** One answer for each record, in their order, as they come. @throws RunStopped. */
  async *answers(records: readonly string[]): AsyncGenerator<readonly string[]> {
    const { retries, signal, onWait } = this.#options;
    let done = 0;
    /** The answer to a record that failed in a way that may pass, until another shows that the record itself is at fault. */
    let suspect: string | undefined;
    /** Records at once: fewer where an attempt brought no answer, since these may be what is too much. */
    let most = records.length;
    for (let attempt = 0; done + (suspect === undefined ? 0 : 1) < records.length;) {
      const from = done + (suspect === undefined ? 0 : 1);
      const before = done;
      try {
        for await (const lines of this.#send(records.slice(from, from + most))) {
          const transient = retries === 0 ? -1 : lines.findIndex(isTransient);
          const good = transient < 0 ? lines : lines.slice(0, transient);
          if (good.length > 0) {
            const known = suspect === undefined ? good : [suspect, ...good];
            suspect = undefined;
            done += known.length;
            attempt = 0;
            onWait(undefined);
            yield known;
          }
          const line = transient < 0 ? undefined : lines[transient];
          if (line === undefined) continue;
          if (attempt >= retries && suspect === undefined) {
            suspect = line;
            attempt = 0;
            break;
          }
          throw new TransientFailure(reasonOf(line));
        }
        most *= 2;
      } catch (thrown) {
        if (signal.aborted || thrown instanceof RunStopped) throw thrown;
        const why = thrown instanceof TransientFailure ? thrown.message : `the connection broke: ${messageOf(thrown)}`;
        if (attempt >= retries)
          throw new RunStopped(`${this.#options.url} gave no answer in ${count(attempt + 1, 'attempt')}: ${why}`, {
            cause: thrown,
          });
        if (done === before) most = Math.ceil(Math.min(most, records.length - from) / 2);
        const wait = pauseBefore(attempt++, thrown instanceof TransientFailure ? thrown.afterSeconds : 0);
        onWait(`Trying again in ${Math.ceil(wait / 1000)} s, ${attempt} of ${retries}: ${why}`);
        await pause(wait, undefined, { signal });
      }
    }
    if (suspect !== undefined) yield [suspect];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  /** Lines that are whole. @throws TransientFailure, RunStopped, and what breaks a connection. */
  async *#send(records: readonly string[]): AsyncGenerator<readonly string[]> {
    const { url, authorization, signal } = this.#options;
    using silence = new Silence(this.#options.onWait);
    const answer = await request(url, {
      dispatcher: this.#agent,
      method: 'POST',
      headers: {
        'content-type': RECORDS_TYPE,
        accept: `${RECORDS_TYPE}, application/json`,
        ...(authorization === undefined ? {} : { authorization }),
      },
      body: `${records.join('\n')}\n`,
      signal,
    });
    if (answer.statusCode !== 200) throw await this.#refused(answer);
    this.#check(answer);
    let got = 0;
    let begun = '';
    answer.body.setEncoding('utf8');
    for await (const chunk of answer.body as AsyncIterable<string>) {
      const lines = (begun + chunk).split('\n');
      begun = lines.pop() ?? '';
      const whole = lines.filter((line) => line !== '').slice(0, records.length - got);
      got += whole.length;
      // Until somebody wants more, it may be silent.
      silence.end();
      if (whole.length > 0) yield whole;
      silence.begin();
    }
    if (got < records.length)
      throw new TransientFailure(`the answer ends after ${got} of ${count(records.length, 'record')}`);
  }

  #check({ headers }: Dispatcher.ResponseData): void {
    const { url, digest } = this.#options;
    if (!isOfRecords(one(headers['content-type'])))
      throw new RunStopped(
        `${url} does not answer record by record any more, but as ${String(headers['content-type'])}`,
      );
    const now = one(headers[DIGEST_HEADER]);
    if (now !== digest)
      throw new RunStopped(
        `The knowledge object at ${url} is another one now: its package was ${digest ?? 'unknown'}, and is ${now ?? 'unknown'}. ` +
          'Results of both would stand in one file: run it from the beginning with --force, or bring back the package and say --resume',
      );
  }

  async #refused({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<Error> {
    let text = '';
    for await (const chunk of body) {
      text += String(chunk);
      if (text.length > MOST_ERROR_BYTES) break;
    }
    const words = `${statusCode} ${STATUS_CODES[statusCode] ?? ''}${detailOf(text)}`;
    if (AGAIN.has(statusCode) || statusCode === NOT_YET)
      return new TransientFailure(words, Number(one(headers['retry-after'])) || 0);
    return new RunStopped(`${this.#options.url} refuses the records: ${words}`);
  }
}

/** Tells of an answer that does not come. */
class Silence implements Disposable {
  readonly #tell: NodeJS.Timeout;
  #since = 0;

  constructor(onWait: BatchClientOptions['onWait']) {
    this.begin();
    this.#tell = setInterval(() => {
      const silent = performance.now() - this.#since;
      if (silent >= SILENT_MS) onWait(`No answer for ${Math.floor(silent / 1000)} s`);
    }, SILENT_MS);
  }

  begin(): void {
    this.#since = performance.now();
  }

  end(): void {
    this.#since = Infinity;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#tell);
  }
}

const one = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);

function pauseBefore(attempt: number, afterSeconds: number): number {
  const most = Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS);
  // Many clients do not come again at the same moment.
  return Math.max(most / 2 + (Math.random() * most) / 2, Math.min(afterSeconds * 1000, LONGEST_PAUSE_MS));
}

const ERROR = '{"error":';

/** Statuses after which a record is sent again. 504 is not among them: code that takes too long does so again. */
const RECORD_AGAIN: ReadonlySet<number> = new Set([429, 502, 503]);

/** An answer for the record that says no more than a refusal of the whole request would. */
const isTransient = (line: string): boolean => line.startsWith(ERROR) && RECORD_AGAIN.has(statusOf(line));

const statusOf = (line: string): number => Number.parseInt(String(errorOf(line)['Status']), 10);
const errorOf = (line: string): Readonly<Record<string, unknown>> => fieldsOf(fieldsOf(jsonOr(line))['error']);

function reasonOf(line: string): string {
  const { Status: status, Detail: detail } = errorOf(line);
  return `${String(status)}: ${String(detail)}`;
}

function detailOf(text: string): string {
  const { Detail: detail } = fieldsOf(jsonOr(text));
  return typeof detail === 'string' ? `: ${detail}` : '';
}
