/** Batches by HTTP: NDJSON in, NDJSON out, as long as both sides go on. What a batch is: `src/execution/batch`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CallScope } from '../../../engines/engine.ts';
import { RecordBatch, type BatchOutcome } from '../../../execution/batch/run-records.ts';
import { Spool, SpoolRoom } from '../../../execution/batch/spool.ts';
import type { Execution } from '../../../execution/execution.ts';
import { requestErrorBody, toServiceError } from '../../../http/errors.ts';
import { PACKAGE_DIGEST_HEADER } from '../../../http/headers.ts';
import { callOfRequest, ClientGone, type ProtocolService } from '../../../http/protocol.ts';
import { bodyNotReadable, messageOf, ServiceError } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import { pathOf } from '../../../lib/url-path.ts';
import { packageDigestOf } from '../../../shelf/package/package-content.ts';
import type { Target } from '../calls.ts';
import { BatchAnswer } from './batch-answer.ts';
import { BatchSource } from './batch-source.ts';
import { BatchWatch } from './batch-watch.ts';

export interface BatchLimits {
  /** Folder for answers that clients do not read yet, and bytes that they may take in all. */
  readonly spool: string;
  readonly mostSpooled: number;
  /** Milliseconds without any progress after which a batch ends. */
  readonly idle: number;
  /** Milliseconds that the longest call may take. */
  readonly longestCall: number;
  /** Bytes of one record. */
  readonly mostBytes: number;
}

/** What one batch reads, writes and calls. */
interface BatchEnds {
  readonly source: BatchSource;
  readonly answer: BatchAnswer;
  readonly scope: CallScope;
  readonly onProgress: () => void;
}

/** For what the client still sends when its batch has broken off: it reads what it got before the connection goes. */
const LINGER_MS = 1000;
const TRAILERS = 'KGrid-Records, KGrid-Failed';

export class Batches {
  readonly #execution: Execution;
  readonly #service: ProtocolService;
  readonly #limits: BatchLimits;
  readonly #room: SpoolRoom;
  readonly #log: Logger;

  constructor(execution: Execution, service: ProtocolService, limits: BatchLimits) {
    this.#execution = execution;
    this.#service = service;
    this.#limits = limits;
    this.#room = new SpoolRoom(limits.mostSpooled);
    this.#log = service.log.child({ part: 'batches' });
  }

  /** Answers a request whose body is records. @throws unsupportedMediaType, before anything is written. */
  async run(request: IncomingMessage, response: ServerResponse, target: Target, type: string): Promise<void> {
    const { streaming, lifecycle } = this.#service;
    const { calls, batches } = this.#execution;
    const source = new BatchSource(request);
    const { socket } = request;
    using owned = new DisposableStack();
    owned.defer(calls.begin(target.principal, socket.remoteAddress) ?? (() => undefined));
    streaming.add(socket);
    // The server's own clock for silent connections: a record may take its time.
    socket.setTimeout(0);
    // Also when it is replaced or deleted meanwhile: a batch ends on what it began with.
    owned.use(target.endpoint.hold());
    const scope = owned.use(calls.holdingScope(target.set, target.principal));
    using watch = new BatchWatch(source, response, lifecycle, this.#limits);
    await using spool = new Spool(this.#limits.spool, this.#room);
    const answer = new BatchAnswer(response, spool, watch.onProgress);
    const batch = this.#batchOf(request, response, target, { source, answer, scope, onProgress: watch.onProgress });
    watch.isWorking = () => batch.isWorking;
    batches.begin(batch);
    let outcome: BatchOutcome = 'done';
    try {
      response.writeHead(200, this.#headersOf(request, target, type));
      // Whoever waits for the answer before it sends on has it at once.
      response.flushHeaders();
      const totals = await batch.process(source);
      if (wantsSummary(request)) await answer.write(`${JSON.stringify({ summary: totals })}\n`);
      await answer.end([
        ['KGrid-Records', String(totals.records)],
        ['KGrid-Failed', String(totals.failed)],
      ]);
      streaming.delete(socket);
    } catch (thrown) {
      source.stop(new Error('the batch broke off'));
      const reason = watch.reason ?? (response.closed ? undefined : messageOf(thrown));
      outcome = reason === undefined ? 'client-gone' : 'broken-off';
      this.#tell(request, reason, batch.totals.records);
      breakOff(request, response, source);
    } finally {
      batches.end(batch, outcome);
    }
  }

  #batchOf(
    request: IncomingMessage,
    response: ServerResponse,
    { endpoint, set, trace, principal }: Target,
    { source, answer, scope, onProgress }: BatchEnds,
  ): RecordBatch {
    const { calls, identity, held } = this.#execution;
    const { mostBytes } = this.#limits;
    const { requestId } = trace;
    const path = pathOf(request.url ?? '');
    const parts = callOfRequest(request, trace, identity.caller(request.headers, principal));
    const client = new ClientGone(response);
    let isTold = false;
    return new RecordBatch({
      run: (records) => calls.invokeRecords({ endpoint, set }, { records, scope, ...parts }, client),
      write: (lines) => answer.write(lines),
      errorText: (error, line) => {
        if (!(error instanceof ServiceError) && !isTold)
          this.#log.error({ requestId, err: error }, 'a record failed here');
        isTold ||= !(error instanceof ServiceError);
        const refused = ofRecord(toServiceError(error, requestId), line);
        return requestErrorBody(refused, path, { Code: refused.code });
      },
      mostBytes,
      mostInVain: source.mostInVain,
      held,
      onProgress,
    });
  }

  #headersOf(request: IncomingMessage, { endpoint, trace }: Target, type: string): string[] {
    return [
      'content-type',
      type,
      'content-location',
      `/${endpoint.id}`,
      PACKAGE_DIGEST_HEADER,
      packageDigestOf(endpoint.ko.entry),
      // Without chunks there is no place for them.
      ...(request.httpVersion === '1.0' ? [] : ['trailer', TRAILERS]),
      // Proxies would wait for the whole of it.
      'cache-control',
      'no-store',
      'x-accel-buffering',
      'no',
      ...this.#service.gate.executionHeaders(request, trace),
    ];
  }

  /** `reason`: undefined where the client went away. */
  #tell(request: IncomingMessage, reason: string | undefined, records: number): void {
    const facts = { event: 'batch-broke-off', path: pathOf(request.url ?? ''), records };
    if (reason === undefined) this.#log.info(facts, 'a batch ended, since its client went away');
    else this.#log.warn({ ...facts, reason }, 'a batch broke off');
  }
}

/** What a single call would be told of its body. */
function ofRecord(error: ServiceError, line: number): ServiceError {
  const { message } = error;
  const said = message.replace(OF_BODY, `The record in line ${line} is not`);
  return error.code === 'body-not-readable' && said !== message ? bodyNotReadable(said) : error;
}

const OF_BODY = /^The (?:request body|record) is not/;

/** "An answer that breaks off is visible as such (no final chunk)." */
function breakOff(request: IncomingMessage, response: ServerResponse, source: BatchSource): void {
  const { socket } = request;
  // Without chunks, only a reset tells it from an answer that is whole.
  if (!response.chunkedEncoding) return void socket.resetAndDestroy();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
  source.discard();
  socket.end();
}

const wantsSummary = ({ url = '' }: IncomingMessage): boolean =>
  new URLSearchParams(url.split('?', 2)[1] ?? '').get('summary') === 'true';
