/** Calls of tools: arguments become an input, and a result what an assistant reads. */
import type { IncomingMessage } from 'node:http';
import type { Endpoint } from '../../activation/endpoint.ts';
import type { CallSignal } from '../../engines/engine.ts';
import { isInexact, numbersIn } from '../../execution/exact-numbers.ts';
import type { Execution } from '../../execution/execution.ts';
import { callOfRequest } from '../../http/protocol.ts';
import { toServiceError } from '../../http/errors.ts';
import type { RequestGate, SaidTrace } from '../../http/request-gate.ts';
import type { Principal } from '../../identity/principal.ts';
import { isObject } from '../../lib/json.ts';
import type { Fields } from '../../lib/json.ts';
import { invalidInput } from '../../lib/errors.ts';
import type { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { packageDigestOf } from '../../shelf/package/package-content.ts';
import type { ToolForm } from './definitions.ts';
import { plainWords } from './plain-words.ts';

/** The request that a call comes by. */
export interface McpRequest {
  readonly raw: IncomingMessage;
  readonly requestId: string;
  readonly principal: Principal;
  readonly signal: CallSignal;
  /** As it came. */
  readonly text: string;
  /** Takes the id of each call. */
  readonly onExecution: (id: string) => void;
}

export interface CalledTool {
  readonly endpoint: Endpoint;
  readonly form: ToolForm;
}

export interface ToolCallsOptions {
  readonly execution: Execution;
  readonly gate: RequestGate;
  readonly log: Pick<Logger, 'error'>;
}

export class ToolCalls {
  readonly #options: ToolCallsOptions;

  constructor(options: ToolCallsOptions) {
    this.#options = options;
  }

  /** The result of `tools/call` as JSON text. `meta`: of the request. Never rejects. */
  async run({ endpoint, form }: CalledTool, given: unknown, meta: unknown, request: McpRequest): Promise<string> {
    const { execution, gate, log } = this.#options;
    const { raw, requestId, principal, signal } = request;
    const trace = gate.ids.traceOf(raw, requestId, traceIn(meta));
    request.onExecution(trace.executionId);
    const told = metaOf(endpoint, trace.executionId);
    try {
      const { text, isKept } = inputOf(given ?? {}, form, request.text);
      const result = await execution.calls.invoke(
        { endpoint, set: execution.activator.set },
        {
          ...{ body: text, text, contentType: form.contentType, json: form.isJson },
          isHeldToSchema: isKept ? undefined : true,
          ...callOfRequest(raw, trace, execution.identity.caller(raw.headers, principal)),
        },
        signal,
      );
      return resultText(result, form, told);
    } catch (thrown) {
      const error = toServiceError(thrown, requestId);
      if (error.status >= 500 && !error.isLogged)
        log.error({ requestId, err: thrown, code: error.code }, error.message);
      return errorText(wordsOf(error), told);
    }
  }
}

/** `traceparent` of the call wins over that of the request. */
function traceIn(meta: unknown): SaidTrace | undefined {
  if (!isObject(meta) || meta['traceparent'] === undefined) return undefined;
  return { traceparent: meta['traceparent'], tracestate: meta['tracestate'] };
}

/** What stands in `_meta`, as JSON text. */
const metaOf = ({ ko, id }: Endpoint, executionId: string): string =>
  JSON.stringify({
    'org.kgrid/endpoint': id,
    'org.kgrid/version': ko.id.version,
    'org.kgrid/digest': packageDigestOf(ko.entry),
    'org.kgrid/execution-id': executionId,
  });

/** @throws invalidInput. */
function inputOf(given: unknown, form: ToolForm, source: string): { text: string; isKept: boolean } {
  if (!isObject(given)) throw invalidInput('arguments: expected an object');
  const value = form.wrapsInput ? onlyInput(given) : given;
  if (!form.isJson) {
    if (typeof value !== 'string') throw invalidInput('input: expected text');
    return { text: value, isKept: true };
  }
  requireExact(source);
  try {
    return { text: JSON.stringify(value), isKept: form.keeps?.(value) === true };
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw invalidInput('The arguments are nested too deeply');
  }
}

function onlyInput(given: Fields): unknown {
  if (Object.hasOwn(given, 'input')) return given['input'];
  throw invalidInput('input is missing: the arguments must be {"input": …}');
}

/** Sixteen digits in a row, or an exponent of three. */
const MAY_BE_INEXACT = /\d{16}|[eE]\+?\d{3}/;

/** Arguments were read as doubles before they come here. @throws invalidInput. */
function requireExact(source: string): void {
  if (!MAY_BE_INEXACT.test(source)) return;
  for (const { path, literal } of numbersIn(source, isInexact))
    if (path[0] === 'params' && path[1] === 'arguments')
      throw invalidInput(
        `/${path.slice(2).join('/')}: ${literal.slice(0, 40)} has more digits than a number holds; give it as text, where the schema allows that`,
      );
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const DATA_URL = /^data:([a-z]+\/[\w.+-]+);base64,/;

/** `result`: JSON text. */
export function resultText(result: string, { wrapsResult, resultType }: ToolForm, meta: string): string {
  if (resultType !== undefined && result.startsWith('"'))
    return `{"content":[${mediaText(JSON.parse(result) as string, resultType)}],"_meta":${meta}}`;
  const isText = result.startsWith('"');
  const content = `[{"type":"text","text":${isText ? result : JSON.stringify(result)}}]`;
  const wraps = wrapsResult ?? !result.startsWith('{');
  const structured = wraps || !result.startsWith('{') ? `{"result":${result}}` : result;
  return `{"content":${content},"structuredContent":${structured},"_meta":${meta}}`;
}

/** What is no Base64 is text, such as an SVG. */
function mediaText(result: string, declared: string): string {
  const [prefix = '', type = declared] = DATA_URL.exec(result) ?? [];
  const data = result.slice(prefix.length).replace(/\s+/g, '');
  const isBase64 = data.length % 4 === 0 && BASE64.test(data);
  return JSON.stringify({
    type: type.startsWith('audio/') ? 'audio' : 'image',
    data: isBase64 ? data : Buffer.from(result).toString('base64'),
    mimeType: type,
  });
}

export const errorText = (words: string, meta: string): string =>
  `{"content":[${JSON.stringify({ type: 'text', text: plainWords(words) })}],"isError":true,"_meta":${meta}}`;

const wordsOf = ({ code, message }: ServiceError): string =>
  code === 'invalid-input' ? `${message}. Correct the arguments and call the tool again.` : message;
