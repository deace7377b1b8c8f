/**
 * What goes wrong in the runtime, one factory for each situation. The message is the `description` of the answer:
 * one sentence for the author of a knowledge object or the operator, without host paths or secrets.
 */
export class RuntimeError extends Error {
  override readonly name = 'RuntimeError';
  readonly code: number;
  /** `status` of the answer's body, where the protocol gives it a meaning. */
  readonly status: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: number, description: string, more: { status?: string; headers?: Record<string, string> } = {}) {
    super(description);
    this.code = code;
    this.status = more.status;
    this.headers = more.headers ?? {};
  }
}

export const refused = (description: string): RuntimeError => new RuntimeError(400, description);
export const unauthenticated = (): RuntimeError =>
  new RuntimeError(401, 'This runtime takes requests only from the activator that started it');
export const crossSite = (): RuntimeError => new RuntimeError(403, 'Requests of web pages are not taken here');
export const notFound = (description: string): RuntimeError => new RuntimeError(404, description);
export const methodNotAllowed = (allow: string): RuntimeError =>
  new RuntimeError(405, `Allowed here: ${allow}`, { headers: { allow } });
export const tooLarge = (limit: number): RuntimeError =>
  new RuntimeError(413, `The body is larger than the limit of ${megabytes(limit)}`);
export const unsupportedMediaType = (): RuntimeError => new RuntimeError(415, 'Content-Type must be application/json');
export const activationFailed = (description: string): RuntimeError => new RuntimeError(500, description);
/** What nobody foresaw; the log says more. */
export const internal = (cause: unknown): RuntimeError =>
  new RuntimeError(500, `The runtime could not do it (${codeOf(cause) ?? 'internal error'})`);
export const activatorUnreachable = (description: string): RuntimeError => new RuntimeError(502, description);
export const inProcessing = (stage: string): RuntimeError =>
  new RuntimeError(503, stage, {
    status: 'Endpoint is in processing, try again later.',
    headers: { 'retry-after': '1' },
  });
export const isInProcessing = (error: unknown): boolean => error instanceof RuntimeError && error.code === 503;
export const overloaded = (description: string): RuntimeError =>
  new RuntimeError(503, description, { headers: { 'retry-after': '1' } });

export const megabytes = (bytes: number): string => `${Math.round(bytes / 10_000) / 100} MB`;
export const seconds = (ms: number): string => `${Math.round(ms / 10) / 100} s`;

/** The code of a system error (`ENOENT`), or undefined. */
export const codeOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;

export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
