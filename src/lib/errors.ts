/**
 * Every error that a caller can see, one factory for each situation. The two wire forms of the
 * specification (request errors and shelf errors) are made from these in `http/errors.ts`.
 *
 * A message is one sentence for the caller: what is wrong, where, and what to do. It never holds a path of
 * the host, a stack or a secret; what the operator needs beside it travels as `cause` and goes to the log.
 */
import type { CodePlace } from './code-place.ts';

export class ServiceError extends Error {
  readonly code: string;
  /** HTTP status. */
  readonly status: number;
  /** `Title` of a request error. */
  readonly title: string;
  /** Response headers that belong to the situation, such as `Allow` or `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>;
  /** All that the message says of a package, each with its place. */
  readonly problems: readonly PackageProblem[];
  /** What is wrong with an input, each with its place: nothing of the input itself. */
  readonly inputs: readonly InputProblem[];
  /**
   * Where the code of a `codeError` threw. For the log and for authors, in the words of `formatPlace`; never part
   * of an answer.
   */
  readonly place: CodePlace | undefined;
  /** A line of the log tells of it. */
  isLogged = false;

  constructor(code: string, status: number, title: string, message: string, more: ErrorMore = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.status = status;
    this.title = title;
    this.headers = more.headers ?? {};
    this.problems = more.problems ?? [];
    this.inputs = more.inputs ?? [];
    this.place = more.place;
  }
}

export interface ErrorMore {
  cause?: unknown;
  headers?: Readonly<Record<string, string>>;
  problems?: readonly PackageProblem[];
  inputs?: readonly InputProblem[];
  place?: CodePlace | undefined;
}

/** Something wrong with an input, for a program. */
export interface InputProblem {
  /** JSON pointer (RFC 6901); empty for the whole input. */
  readonly pointer: string;
  readonly expected: string;
}

/** Something wrong in a package, for its author: a sentence that names the place too. */
export interface PackageProblem {
  readonly message: string;
  /** Path in the package. */
  readonly file: string;
  /** From 1. */
  readonly line?: number;
}

const define =
  (code: string, status: number, title: string) =>
  (message: string, more?: ErrorMore): ServiceError =>
    new ServiceError(code, status, title, message, more);

// Requests
export const endpointNotFound = define('endpoint-not-found', 404, 'Endpoint not found');
/** It is known, and could not be activated or was not yet. */
export const endpointNotActive = define('endpoint-not-active', 404, 'Endpoint not found');
export const notFound = define('not-found', 404, 'Not Found');
export const malformedRequest = define('malformed-request', 400, 'Bad Request');
/** Nobody hears of it but the log and who measures calls. */
export const callerGone = define('caller-gone', 400, 'Bad Request');
export const bodyNotReadable = define('body-not-readable', 400, 'Http Message Not Readable');
export const requestTimedOut = (message: string): ServiceError =>
  new ServiceError('request-timed-out', 408, 'Request Timeout', message, { headers: { connection: 'close' } });
export const bodyTooLarge = define('body-too-large', 413, 'Payload Too Large');
export const notAcceptable = define('not-acceptable', 406, 'Http MediaType not acceptable');
export const unsupportedMediaType = define('unsupported-media-type', 415, 'Unsupported Media Type');
export const methodNotAllowed = (method: string, path: string, allow: readonly string[]): ServiceError =>
  new ServiceError(
    'method-not-allowed',
    405,
    'Method Not Allowed',
    `${method} is not supported on ${path}; allowed: ${allow.join(', ')}`,
    {
      headers: { allow: allow.join(', ') },
    },
  );

// Execution
const executionTitle = 'General Adapter Exception';
/** The specification: "Detail begins with a code-execution-error message carrying the runtime's message". */
const defineExecution =
  (code: string) =>
  (message: string, more?: ErrorMore): ServiceError =>
    new ServiceError(code, 500, executionTitle, `Code execution error: ${message}`, more);
/** The code threw an error, or does not load. */
export const codeError = defineExecution('code-error');
export const executionTimeout = defineExecution('execution-timeout');
export const outOfMemory = defineExecution('out-of-memory');
/** The process of the code ended under the call. */
export const processEnded = defineExecution('process-ended');
/** The result is nothing that JSON can hold, or is too large. */
export const invalidResult = defineExecution('invalid-result');
/** Any other reason, such as one that an external runtime gives. */
export const executionFailed = defineExecution('execution-failed');
/** By code: what a call fails with through the code that it runs. */
export const EXECUTION_ERRORS: ReadonlyMap<string, typeof executionFailed> = new Map(
  Object.entries({
    'code-error': codeError,
    'execution-timeout': executionTimeout,
    'out-of-memory': outOfMemory,
    'process-ended': processEnded,
    'invalid-result': invalidResult,
    'execution-failed': executionFailed,
  }),
);
/**
 * The code itself says that what it was given is at fault, by an error named `InvalidInputError` with one of these
 * statuses; never for an error that came out of a nested call.
 */
export const invalidInput = (
  message: string,
  status: 400 | 422 = 400,
  inputs: readonly InputProblem[] = [],
): ServiceError =>
  new ServiceError(
    'invalid-input',
    status === 422 ? 422 : 400,
    'Invalid Input',
    message.slice(0, MAX_DETAIL_CHARACTERS),
    { inputs },
  );
/** Characters that code may say to a caller. */
const MAX_DETAIL_CHARACTERS = 4000;
export const runtimeUnreachable = define('runtime-unreachable', 502, executionTitle);
export const runtimeSilent = define('runtime-silent', 504, executionTitle);
export const overloaded = (message: string, retryAfterSeconds = 1): ServiceError =>
  new ServiceError('overloaded', 503, 'Service Unavailable', message, {
    headers: { 'retry-after': String(retryAfterSeconds) },
  });

/** The process has as many files and connections open as it may. */
export const tooManyOpen = (cause: unknown): ServiceError =>
  new ServiceError(
    'too-many-open',
    503,
    'Service Unavailable',
    'Too many files and connections are open; try again later',
    {
      headers: { 'retry-after': '1' },
      cause,
    },
  );

// Access
export const notAuthenticated = define('not-authenticated', 401, 'Unauthorized');
/** A token cannot be checked, because its issuer does not answer. */
export const loginUnavailable = define('login-unavailable', 503, 'Service Unavailable');
export const notAuthorized = define('not-authorized', 403, 'Forbidden');
export const crossSiteRefused = define('cross-site-refused', 403, 'Forbidden');
/** Wrong logins of this account came from this address, or too many passwords are being checked. */
export const tooManyTries = (retryAfterSeconds: number): ServiceError =>
  new ServiceError(
    'too-many-tries',
    429,
    'Too Many Requests',
    `Too many logins were tried; try again in ${retryAfterSeconds} s`,
    { headers: { 'retry-after': String(retryAfterSeconds) } },
  );
/** More requests, or calls at once, than a principal may have. */
export const tooManyRequests = define('too-many-requests', 429, 'Too Many Requests');
export const conflict = define('conflict', 409, 'Conflict');

// Shelf
export const koNotFound = (id: string): ServiceError =>
  new ServiceError('ko-not-found', 404, 'Not Found', `Object location not found for ark id ark:/${id}`);
export const binaryNotFound = (id: string, path: string): ServiceError =>
  new ServiceError('binary-not-found', 404, 'Not Found', `Binary resource not found shelf/${id}/${path}`);
/** A package that cannot be taken in: the message says what is wrong and names the file. */
export const importRefused = define('import-refused', 400, 'Bad Request');
/** Whoever signed it, the trust policy wants others. */
export const packageNotTrusted = define('package-not-trusted', 409, 'Conflict');
export const packageTooLarge = define('package-too-large', 413, 'Payload Too Large');
export const metadataNotReadable = define('metadata-not-readable', 400, 'Bad Request');
export const rangeNotSatisfiable = (path: string, size: number): ServiceError =>
  new ServiceError(
    'range-not-satisfiable',
    416,
    'Range Not Satisfiable',
    `${path} has ${size} bytes; the range is beyond its end`,
    {
      headers: { 'content-range': `bytes */${size}` },
    },
  );
export const preconditionFailed = define('precondition-failed', 412, 'Precondition Failed');
/** The disk is full. */
export const shelfFull = define('shelf-full', 507, 'Insufficient Storage');
export const shelfNotWritable = define('shelf-not-writable', 500, 'Internal Server Error');
/** Something on the shelf cannot be read at the moment: it says nothing of what is there. */
export const shelfNotReadable = (message: string, cause: unknown): ServiceError =>
  new ServiceError('shelf-not-readable', 503, 'Service Unavailable', message, {
    headers: { 'retry-after': '1' },
    cause,
  });
/** A shelf that others share cannot be changed at the moment; what is known of it can be read. */
export const shelfUnavailable = (message: string, cause: unknown): ServiceError =>
  new ServiceError('shelf-unavailable', 503, 'Service Unavailable', message, {
    headers: { 'retry-after': '2' },
    cause,
  });
/** What is shared was lost in the midst of a change: the message says what is known of it, and where to look. */
export const outcomeUnknown = (message: string, cause: unknown): ServiceError =>
  new ServiceError('outcome-unknown', 503, 'Service Unavailable', message, { headers: { 'retry-after': '2' }, cause });
/** What was to be put back is not kept; the message says what is. */
export const packageNotKept = define('package-not-kept', 404, 'Not Found');
/** A file of a package is missing or is not what was stored. */
export const packageDamaged = define('package-damaged', 500, 'Internal Server Error');

// Start
/** Stops the start with one line on the terminal. */
export const startRefused = define('start-refused', 500, 'Internal Server Error');

/** The word by which is counted how something ended that threw this. */
export const outcomeOf = (thrown: unknown): string => (thrown instanceof ServiceError ? thrown.code : 'internal');

/** What an operation's error says to a person, whatever was thrown. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

export const toError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(messageOf(thrown)));

/** Nothing could be opened: this says nothing about what was to be opened. */
export const isOutOfHandles = (thrown: unknown): boolean =>
  thrown instanceof Error && 'code' in thrown && (thrown.code === 'EMFILE' || thrown.code === 'ENFILE');
