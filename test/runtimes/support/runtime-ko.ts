/** Knowledge objects whose code runs in a runtime. */
import { ko } from '../../acceptance/support/ko.ts';
import type { Content, Ko, KoParts } from '../../acceptance/support/ko.ts';

export interface RuntimeKoParts extends Omit<KoParts, 'endpoints' | 'files'> {
  readonly engine: string;
  /** Files by path; the first is the entry. */
  readonly code: Readonly<Record<string, Content>>;
  readonly consumes?: readonly string[];
  /** Laid over the deployment of `/run`. */
  readonly deployment?: Readonly<Record<string, unknown>>;
}

/** A KO with the endpoint `/run`. */
export function runtimeKo({ engine, code, consumes = ['application/json'], deployment, ...parts }: RuntimeKoParts): Ko {
  const artifact = Object.keys(code);
  return ko({
    ...parts,
    endpoints: [
      {
        path: '/run',
        consumes,
        deployment: {
          artifact: artifact.length === 1 ? artifact[0] : artifact,
          engine,
          function: 'run',
          ...deployment,
        },
      },
    ],
    metadata: { hasPayload: artifact[0], ...parts.metadata },
    files: code,
  });
}
