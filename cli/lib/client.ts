/** What the commands ask of an activator, over HTTP. */
import { STATUS_CODES } from 'node:http';
import { messageOf } from '../../src/lib/errors.ts';
import { ioFailure } from './exit.ts';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

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

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | FormData;
}

/** How a command shows who it is. */
export interface Login {
  /** In words, such as `the user ann`. */
  readonly who: string;
  /** The `Authorization` header. */
  readonly authorization: string;
}

export class ActivatorClient {
  /** Without a slash at its end. */
  readonly url: string;
  /** Undefined without one. */
  readonly login: string | undefined;
  readonly #authorization: string | undefined;

  constructor(url: string, login?: Login) {
    this.url = url.replace(/\/+$/, '');
    this.login = login?.who;
    this.#authorization = login?.authorization;
  }

  /** @throws CommandFailure when the activator cannot be reached. */
  async send(path: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Answer> {
    try {
      const response = await fetch(this.url + path, {
        method,
        headers: {
          accept: 'application/json',
          ...(this.#authorization === undefined ? {} : { authorization: this.#authorization }),
          ...headers,
        },
        redirect: 'manual',
        ...(body === undefined ? {} : { body }),
      });
      return { status: response.status, body: jsonOr(await response.text()) };
    } catch (thrown) {
      const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
      const code = (cause as NodeJS.ErrnoException).code;
      const why = code === 'ECONNREFUSED' ? 'nothing listens there' : messageOf(cause);
      throw ioFailure(`Cannot reach the activator at ${this.url}: ${why}`, thrown);
    }
  }

  /** @throws CommandFailure when the answer is not that of an activator. */
  async endpoints(): Promise<ListedEndpoint[]> {
    const { status, body } = await this.send('/endpoints');
    if (status !== 200 || !Array.isArray(body)) {
      throw ioFailure(
        `${this.url} does not answer as an activator does: GET /endpoints gave ${wordsOf({ status, body })}`,
      );
    }
    return (body as Record<string, unknown>[]).map((each) => ({
      id: textOf(each['@id']).replace(/^\//, ''),
      ko: textOf(each['knowledgeObject']).replace(/^\/?kos\//, ''),
      engine: textOf(each['engine']),
      status: textOf(each['status']),
      detail: typeof each['detail'] === 'string' ? each['detail'] : undefined,
    }));
  }
}

/** What an error answer says to a person. */
export function wordsOf({ status, body }: Answer): string {
  const fields = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const words = fields['Detail'] ?? fields['Error'];
  const title = `${status} ${STATUS_CODES[status] ?? ''}`.trim();
  return typeof words === 'string' ? `${title}: ${words}` : title;
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
