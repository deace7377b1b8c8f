/** Holds every answer of the service to its OpenAPI document, whatever the test asks of it. */
import assert from 'node:assert/strict';
import { CheckedAnswers } from '../../documents/support/checked-answers.ts';
import { METHODS, loadInterface, routesOf } from '../../documents/support/interface.ts';
import type { PathItem } from '../../documents/support/interface.ts';
import { sender } from './client.ts';
import type { Answer, Send } from './client.ts';

interface Known {
  /** As in the document. */
  readonly path: string;
  readonly item: PathItem;
  readonly pattern: RegExp;
}

/** First segments of the service's own paths: what else there is, are calls. */
const OWN = /^\/(?:(?:kos|endpoints|actuator|proxy|doc|console|mcp|\.well-known|openapi\.(?:json|yaml))(?:\/|$)|$)/;

class InterfaceCheck {
  readonly #paths: readonly Known[];
  readonly #answers: CheckedAnswers;

  constructor() {
    const document = loadInterface();
    this.#answers = new CheckedAnswers(document);
    this.#paths = Object.entries(document.paths).flatMap(([path, item]) =>
      routesOf(path, item).map((route) => ({ path, item, pattern: patternOf(path, route) })),
    );
  }

  /** One of the operations that a request may mean has such an answer. @throws AssertionError that names what does not agree. */
  check(method: string, target: string, answer: Answer): void {
    const url = target.replace(/^https?:\/\/[^/]*/i, '');
    const path = plainPath(url);
    const isOnlyError = answer.status === URL_TOO_LONG || (answer.status >= 400 && SPELLED.test(url));
    const known = isOnlyError ? [] : this.#meant(path);
    const operation = METHODS.find((each) => each === method.toLowerCase());
    const meant = operation === undefined ? [] : known.filter(({ item }) => item[operation] !== undefined);
    if (operation === undefined || meant.length === 0) return this.#checkOthers(method, url, answer);
    const failures: unknown[] = [];
    for (const each of meant) {
      try {
        return this.#answers.check(operation, each.path, answer, 'as default');
      } catch (thrown) {
        failures.push(thrown);
      }
    }
    throw failures[0];
  }

  #meant(path: string): readonly Known[] {
    const exact = this.#paths.filter((each) => each.path === path);
    if (exact.length > 0) return exact;
    return this.#paths.filter((each) => each.path.startsWith('/{') !== OWN.test(path) && each.pattern.test(path));
  }

  /** "OPTIONS answers 204 with the CORS headers, on every path. Any other method is 405. A path that is not here is 404." */
  #checkOthers(method: string, url: string, answer: Answer): void {
    const where = `${method} ${url} ${answer.status}`;
    if (method === 'OPTIONS' && answer.status === 204) return;
    assert.ok(answer.status >= 400, `${where} is not in the document`);
    if (method === 'HEAD') return;
    const isShelf = firstSegmentOf(url) === 'kos' && answer.status !== URL_TOO_LONG;
    this.#answers.check('get', isShelf ? '/kos' : '/', answer, 'as default');
  }
}

/** Refused before anything of it is read. */
const URL_TOO_LONG = 431;

/** Whose first segment is no plain word. */
const SPELLED = /^\/(?:\/|[^/]*%)/;

/** The route decides which form an error has, however its path is spelled. */
function firstSegmentOf(url: string): string {
  const [, first = ''] = url.split(/[/?#]/);
  try {
    return decodeURIComponent(first);
  } catch {
    return first;
  }
}

/** "A slash at the end of a path changes nothing", nor does a percent sign for what could stand there plainly. */
function plainPath(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1);
  const text = path.replace(/(?<=.)\/+$/, '').replace(/^\/kos\/ark:(?!\/)/, '/kos/ark:/');
  try {
    return text.split('/').map(decodeURIComponent).join('/');
  } catch {
    return text;
  }
}

/** Of a path of the document; a parameter may hold slashes where its route says so. */
function patternOf(path: string, route: string): RegExp {
  const parameter = route.includes('*') ? '.+' : '[^/]+';
  const parts = path.split(/(\{\w+\})/).map((part) => (part.startsWith('{') ? parameter : RegExp.escape(part)));
  return new RegExp(`^${parts.join('')}$`);
}

let check: InterfaceCheck | undefined;

/** Other rings share this client, and ask for more than a check of each answer leaves time for. */
const IS_ACCEPTANCE = /\/acceptance(?:\/|[-\w]*\.test\.mjs$)/.test(process.argv[1] ?? '');

/** As `sender`, and no answer may be another than the document says. */
export const checkedSender = (base: string, credentials?: string): Send => {
  const send = sender(base, credentials);
  if (!IS_ACCEPTANCE) return send;
  return async (method, path, sent) => {
    const answer = await send(method, path, sent);
    (check ??= new InterfaceCheck()).check(method, path, answer);
    return answer;
  };
};
