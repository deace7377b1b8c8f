/** `GET /actuator/health` of an activator. */
import type { ActivatorClient } from './client.ts';
import { fieldsOf } from './fields.ts';

export interface EngineState {
  readonly name: string;
  readonly status: string;
  /** How many runtimes registered; undefined for engines without runtimes. */
  readonly runtimes: number | undefined;
  /** One that the activator brings is on its way. */
  readonly starting: boolean;
  /** Why it is not there. */
  readonly problem: string | undefined;
}

export interface HealthFailure {
  readonly what: string;
  readonly cause: string;
  /** When the activator tries it again by itself, where it does: ISO 8601. */
  readonly triedAgainAt?: string;
}

export interface Health {
  readonly status: string;
  /** On the shelf. This and the engines are undefined where the login does not show them. */
  readonly kos: number | undefined;
  readonly engines: readonly EngineState[] | undefined;
  /** Packages that cannot be served. */
  readonly failures: readonly HealthFailure[];
}

/** @throws CommandFailure when the answer is not that of an activator. */
export async function readHealth(client: ActivatorClient): Promise<Health> {
  const answer = await client.send('/actuator/health');
  const { status, components } = fieldsOf(answer.body);
  if (![200, 503].includes(answer.status) || typeof status !== 'string')
    throw client.strange('GET /actuator/health', answer);
  if (components === undefined) return { status, kos: undefined, engines: undefined, failures: [] };
  const parts = Object.values(fieldsOf(components)).map(fieldsOf);
  const { kos, failures } = fieldsOf(fieldsOf(fieldsOf(components)['activationService'])['details']);
  return {
    status,
    kos: typeof kos === 'number' ? kos : undefined,
    engines: parts.flatMap((part) => {
      const { engines, runtimes, starting, problem } = fieldsOf(part['details']);
      return (Array.isArray(engines) ? engines : []).map((name) => ({
        name: String(name),
        status: String(part['status']),
        runtimes: typeof runtimes === 'number' ? runtimes : undefined,
        starting: starting === true,
        problem: typeof problem === 'string' ? problem : undefined,
      }));
    }),
    failures: (Array.isArray(failures) ? failures : [])
      .map(fieldsOf)
      .map(({ knowledgeObject, onShelf, cause, triedAgainAt }) => ({
        what: String(knowledgeObject ?? onShelf),
        cause: String(cause),
        ...(typeof triedAgainAt === 'string' ? { triedAgainAt } : {}),
      })),
  };
}
