/** What an endpoint reads and writes, by the headers of a request. Decisions are kept for each header text. */
import Negotiator from 'negotiator';
import type { Endpoint } from '../activation/endpoint.ts';
import { notAcceptable, unsupportedMediaType } from '../lib/errors.ts';
import { boundedAccept, isJson, mediaTypeOf } from '../lib/media-type.ts';
import { recordTypeOf } from './batch/record-lines.ts';

/** How the answer is written: with its metadata, in its envelope without them, the result alone, also in a declared type of JSON, or a text of a declared type. */
export type AnswerForm =
  | { readonly kind: 'wrapped' }
  | { readonly kind: 'bare' }
  | { readonly kind: 'minimal' }
  | { readonly kind: 'json'; readonly type: string }
  | { readonly kind: 'text'; readonly type: string };

export const WRAPPED: AnswerForm = { kind: 'wrapped' };
const BARE: AnswerForm = { kind: 'bare' };
/** Of a header `Prefer` (RFC 7240). */
const WITHOUT_INFO = /(?:^|,)\s*return\s*=\s*"?minimal"?\s*(?:[;,]|$)/i;
const MINIMAL: AnswerForm = { kind: 'minimal' };
const MINIMAL_TYPE = 'application/json;profile=minimal';
/** Parameters of a media range that change nothing here, such as `charset` and `version`: all but `q` and the one profile. */
const UNHEARD = /;(?!\s*q\s*=|\s*profile\s*=\s*"?minimal"?\s*(?:[;,]|$))[^;,="]*(?:=\s*(?:"[^"]*"|[^;,"]*))?/gi;
/** The ranges that the one profile belongs to. */
const WITH_PROFILE = /^\s*(?:application\/json|application\/\*|\*\/\*)\s*;/i;
const PROFILE = /;\s*profile\s*=[^;]*/i;
/** A media type; a list of them would be read as its last. */
const TYPE = /^[^\s/,]+\/[^\s/,]+$/;
/** One with parameters, as a header may hold it. */
const HEADER_VALUE = /^[\x20-\x2b\x2d-\x7e]+$/;
const MOST_KEPT = 64;
/** Of the types that a client names, those that it likes best. */
const MOST_NAMED = 16;

export class Negotiation {
  readonly #endpoint: Endpoint;
  readonly #types = new Map<string, boolean>();
  readonly #forms = new Map<string, AnswerForm>();

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  /** True when the body is JSON. @throws unsupportedMediaType when its type is not declared for the endpoint. */
  readsJson(contentType: string | undefined): boolean {
    const known = this.#types.get(contentType ?? '');
    if (known !== undefined) return known;
    const type = mediaTypeOf(contentType);
    const { accepts, id } = this.#endpoint;
    if (!accepts.some((declared) => matches(mediaTypeOf(declared), type))) {
      const given = type === '' ? '(none given)' : type;
      throw unsupportedMediaType(
        `Endpoint ${id} does not support media type ${given}. Supported Content Types: [${accepts.join(', ')}]`,
      );
    }
    return keep(this.#types, contentType ?? '', isJson(type));
  }

  /**
   * The type of a body whose lines are calls: "NDJSON at an execution address is one call a line, unless the KO declares
   * that type itself." @throws unsupportedMediaType where the endpoint takes no JSON; notAcceptable.
   */
  recordType(contentType: string | undefined, accept: string | undefined): string | undefined {
    const type = recordTypeOf(contentType);
    if (type === undefined) return undefined;
    const { accepts } = this.#endpoint;
    if (accepts.some((declared) => mediaTypeOf(declared) === type)) return undefined;
    this.readsJson('application/json');
    if (
      accept !== undefined &&
      new Negotiator({ headers: { accept: boundedAccept(accept) } }).mediaType([type, 'application/json']) === undefined
    )
      throw notAcceptable(`A batch is answered with ${type}, which Accept: ${boundedAccept(accept)} leaves out`);
    return type;
  }

  /** `prefer`: the header; `return=minimal` leaves `info` out. @throws notAcceptable. */
  answerForm(accept: string | undefined, prefer?: string): AnswerForm {
    const form = this.#formOf(accept);
    return prefer !== undefined && form === WRAPPED && WITHOUT_INFO.test(prefer.slice(0, 200)) ? BARE : form;
  }

  #formOf(accept: string | undefined): AnswerForm {
    if (accept === undefined || accept === '*/*' || accept.trim() === '') return WRAPPED;
    return this.#forms.get(accept) ?? keep(this.#forms, accept, this.#negotiate(accept));
  }

  #negotiate(accept: string): AnswerForm {
    const responds = this.#endpoint.responds.map(mediaTypeOf).filter((type) => TYPE.test(type));
    const negotiator = new Negotiator({ headers: { accept: withoutParameters(boundedAccept(accept)) } });
    const named = negotiator
      .mediaTypes()
      .filter((type) => !type.includes('*'))
      .slice(0, MOST_NAMED);
    // A declared range such as `text/*` stands for each type in it that the client names.
    const declared = responds.flatMap((type) =>
      type.includes('*') ? named.filter((each) => matches(type, each.toLowerCase())) : [type],
    );
    const [best] = negotiator.mediaTypes(['application/json', MINIMAL_TYPE, ...declared]);
    // Who names only the form of errors takes the usual answer.
    if (best === undefined && named.includes('application/problem+json')) return WRAPPED;
    if (best === undefined) {
      const offered = [...new Set(['application/json', ...responds])];
      throw notAcceptable(
        `Endpoint ${this.#endpoint.id} cannot answer with ${boundedAccept(accept)}. It answers with: [${offered.join(', ')}]`,
      );
    }
    if (best === MINIMAL_TYPE) return MINIMAL;
    if (best === 'application/json') return WRAPPED;
    return isJson(best) ? { kind: 'json', type: this.#asDeclared(best) } : { kind: 'text', type: best };
  }

  #asDeclared(type: string): string {
    const declared = this.#endpoint.responds.find((each) => mediaTypeOf(each) === type);
    return declared !== undefined && HEADER_VALUE.test(declared) ? declared : type;
  }
}

const withoutParameters = (accept: string): string =>
  accept
    .replace(UNHEARD, '')
    .split(',')
    .map((range) => (WITH_PROFILE.test(range) ? range : range.replace(PROFILE, '')))
    .join(',');

function matches(declared: string, type: string): boolean {
  if (type === '' || !/^[^/\s]+\/[^/\s]+$/.test(type)) return false;
  if (declared === type || declared === '*/*') return true;
  return declared.endsWith('/*') && type.startsWith(declared.slice(0, -1));
}

/** Headers are the client's: only so many are remembered. */
function keep<T>(map: Map<string, T>, key: string, value: T): T {
  if (map.size < MOST_KEPT && key.length < 300) map.set(key, value);
  return value;
}
