/** Writes the answers of one endpoint. What is the same in each of them is made once, and no text is copied or counted twice. */
import type { ServerResponse } from 'node:http';
import type { Endpoint } from '../../activation/endpoint.ts';
import type { HeaderList } from '../../http/access/cors.ts';
import type { HeldBytes } from '../../execution/held-bytes.ts';
import { packageDigestOf } from '../../shelf/package/package-content.ts';
import { PACKAGE_DIGEST_HEADER, PACKAGE_SIGNER_HEADER } from '../../http/headers.ts';
import { policyFor } from '../../http/send-file.ts';
import type { AnswerForm } from '../../execution/negotiation.ts';

const START = '{"result":';
const END = '}}';
const ASCII = /^[\x20-\x7e]*$/;

export interface Answer {
  readonly form: AnswerForm;
  /** JSON text. */
  readonly result: string;
  /** The body as it was sent. */
  readonly inputs: string;
  /** Those of any answer. */
  readonly headers: HeaderList;
  readonly withoutBody: boolean;
  /** JSON text, where the answer is to tell how it came about. */
  readonly provenance?: string | undefined;
}

export class EndpointAnswers {
  /** Between the result and the inputs. */
  readonly #info: string;
  readonly #fixedBytes: number;
  readonly #headers: HeaderList;
  readonly #areHeadersAscii: boolean;

  constructor({ id, ko }: Endpoint) {
    this.#info = `,"info":{"ko":${ko.metadata},"inputs":`;
    this.#fixedBytes = START.length + Buffer.byteLength(this.#info) + END.length;
    this.#headers = [
      'content-location',
      `/${id}`,
      PACKAGE_DIGEST_HEADER,
      packageDigestOf(ko.entry),
      ...(ko.signers.length === 0 ? [] : [PACKAGE_SIGNER_HEADER, ko.signers.map(encodeURIComponent).join(', ')]),
    ];
    this.#areHeadersAscii = ASCII.test(this.#headers.join(''));
  }

  /** Writes `{"result": …, "info": {"ko": …, "inputs": …}}` around texts that are JSON already. @throws noRoom. */
  write(response: ServerResponse, held: HeldBytes, answer: Answer): void {
    const { form, result, provenance } = answer;
    if (form.kind === 'text' && result.startsWith('"')) return this.#writeText(response, held, answer, form.type);
    if (form.kind === 'minimal' || form.kind === 'json') {
      const type = form.kind === 'minimal' ? JSON_TYPE : ['content-type', form.type];
      return this.#send(response, held, answer, type, result, Buffer.byteLength(result));
    }
    if (form.kind === 'bare')
      return this.#send(
        response,
        held,
        answer,
        BARE_TYPE,
        `${START}${result}}`,
        START.length + 1 + Buffer.byteLength(result),
      );
    const inputs = JSON.stringify(answer.inputs);
    const bytes = this.#fixedBytes + Buffer.byteLength(result) + Buffer.byteLength(inputs);
    if (provenance === undefined)
      return this.#send(response, held, answer, JSON_TYPE, START + result + this.#info + inputs + END, bytes);
    const more = `,"provenance":${provenance}`;
    const body = START + result + this.#info + inputs + more + END;
    this.#send(response, held, answer, JSON_TYPE, body, bytes + Buffer.byteLength(more));
  }

  #writeText(response: ServerResponse, held: HeldBytes, answer: Answer, type: string): void {
    const body = JSON.parse(answer.result) as string;
    // A form of any site can lead a browser here, and the result may hold what it sent.
    const more = ['content-type', `${type}; charset=utf-8`, 'content-security-policy', policyFor(type)];
    this.#send(response, held, answer, more, body, Buffer.byteLength(body));
  }

  #send(
    response: ServerResponse,
    held: HeldBytes,
    { headers, withoutBody }: Answer,
    type: HeaderList,
    body: string,
    bytes: number,
  ): void {
    held.until(response, bytes);
    response.writeHead(200, [...type, 'content-length', String(bytes), ...this.#headers, ...headers]);
    // A character a byte: ASCII, which is the same in both and written faster so. The headers go with it.
    const isAscii = bytes === body.length && type === JSON_TYPE && this.#areHeadersAscii;
    response.end(withoutBody ? undefined : body, isAscii ? 'latin1' : 'utf8');
    held.untilSent(response, bytes);
  }
}

const JSON_TYPE: HeaderList = ['content-type', 'application/json'];
const BARE_TYPE: HeaderList = [...JSON_TYPE, 'preference-applied', 'return=minimal', 'vary', 'Prefer'];
