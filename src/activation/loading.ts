/** What the shelf gave, and the endpoints that it declares. */
import type { Engine } from '../engines/engine.ts';
import { compareVersions } from '../knowledge-object/id.ts';
import type { ServiceError } from '../lib/errors.ts';
import type { LoadFailure } from './endpoint-set.ts';
import type { DeclaredEndpoint, Endpoint } from './endpoint.ts';
import { isTransient, type LoadedKo } from './loaded-ko.ts';

/** Says something about the process, and nothing about one knowledge object. */
export const saysNothingOfTheKo = (thrown: unknown): thrown is ServiceError =>
  isTransient(thrown) && thrown.code === 'too-many-open';

/** What the shelf gave. */
export interface Loading {
  readonly declared: Declared[];
  readonly opened: LoadedKo[];
  readonly failures: LoadFailure[];
  /** Something could not be read at this moment. */
  readonly refusal: ServiceError | undefined;
}

/** An endpoint that a deployment descriptor declares; `present` when it is there already. */
export interface Declared extends DeclaredEndpoint {
  readonly present?: Endpoint;
  /** Why it cannot run beside another one. */
  readonly conflict?: string;
}

type Engines = Pick<ReadonlyMap<string, Pick<Engine, 'builtIn' | 'health'>>, 'get'>;

/**
 * The endpoints of a KO, each path once. Of the implementations of one service the first counts whose engine runs here;
 * what two services deploy cannot run.
 */
export function declaredBy(ko: LoadedKo, engines: Engines): Declared[] {
  const found = new Map<string, Declared>();
  for (const { from, entry } of ko.declared) {
    const key = `${entry.method} ${entry.path}`;
    const other = found.get(key);
    if (other === undefined) found.set(key, { ko, from, entry });
    else if (other.from.of !== from.of)
      found.set(key, { ...other, conflict: other.conflict ?? conflictOf(other, { ko, from, entry }) });
    else if (!runsHere(engines, other.entry.engine) && runsHere(engines, entry.engine))
      found.set(key, { ...other, from, entry });
  }
  return [...found.values()];
}

/** Whether what that engine would run is implemented for another one too. */
export const hasAlternative = (ko: LoadedKo, engine: string): boolean =>
  ko.declared.some(
    ({ from, entry }) =>
      entry.engine === engine &&
      ko.declared.some(
        (other) => other.from.of === from.of && other.entry.path === entry.path && other.entry.engine !== engine,
      ),
  );

/** Also where its runtime is on its way. */
function runsHere(engines: Engines, name: string): boolean {
  const engine = engines.get(name);
  if (engine === undefined) return false;
  const { status, details } = engine.health();
  return engine.builtIn || status === 'UP' || details['starting'] === true;
}

function conflictOf(one: Declared, other: Declared): string {
  const [first = '', second = ''] = [one, other].map(({ from, entry }) => `${from.deployment.file} line ${entry.line}`);
  return `${one.entry.path} is deployed by two services, in ${first} and in ${second}: take it out of one of them`;
}

/** What could not be read, or whose endpoints could not, for a reason that passes. */
export const unreadOf = (failures: readonly LoadFailure[], endpoints: Iterable<Endpoint>): readonly LoadFailure[] => [
  ...failures.filter(({ transient }) => transient),
  ...[...endpoints]
    .filter((each) => each.transient && each.status === 'FAILED_TO_ACTIVATE')
    .map((each) => ({ id: each.ko.id, cause: each.detail ?? '', transient: true })),
];

export const idOf = ({ ko, entry }: Pick<Declared, 'ko' | 'entry'>, version: string): string =>
  `${ko.id.naan}/${ko.id.name}/${version}${entry.path}`;

/** The newest KO version of those that declare the same endpoint, by its id. */
export function newestVersions(declared: readonly Declared[]): ReadonlyMap<string, string> {
  const newest = new Map<string, string>();
  for (const each of declared) {
    const id = idOf(each, each.from.apiVersion);
    const other = newest.get(id);
    if (other === undefined || compareVersions(other, each.ko.id.version) < 0) newest.set(id, each.ko.id.version);
  }
  return newest;
}
