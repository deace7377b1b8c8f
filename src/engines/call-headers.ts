/** What travels with a call of one KO by another across processes: the token counts, the others tell runtimes of it. */
export const TOKEN_HEADER = 'x-kgrid-call-token';
export const DEPTH_HEADER = 'x-kgrid-depth';
/** Milliseconds that the call may still take. */
export const DEADLINE_HEADER = 'x-kgrid-deadline-ms';
/** What a request is called in logs. */
export const REQUEST_ID_HEADER = 'x-request-id';
/** Defined by https://www.w3.org/TR/trace-context. */
export const TRACE_HEADER = 'traceparent';
export const STATE_HEADER = 'tracestate';
/** "Depth (16) and the time that is left travel with the call." */
export const MAX_DEPTH = 16;
export const tooDeep = (id: string): string =>
  `calls between knowledge objects may be ${MAX_DEPTH} deep, and ${id} is one too many`;

/** The media type of a request with many calls. */
export const CALLS_TYPE = 'application/vnd.kgrid.calls';
export const ANSWERS_TYPE = 'application/vnd.kgrid.answers';
/** Accepts failures as JSON objects, with all that the answer to a single call says. */
export const ANSWERS_ACCEPTED = `${ANSWERS_TYPE};failures=json`;
