/** Reads what `--worker-memory` says: `512MB` for every engine whose code runs in workers, or `python=2GB` for one. */
import { RUNTIME_NAMES } from '../engines/table.ts';
import { refuse, toSize } from './values.ts';

const MB = 2 ** 20;
/** Less than an interpreter takes by itself. */
const LEAST_MB = 64;

/** Gives megabytes by engine; what one engine has of its own wins. @throws startRefused. */
export function toWorkerMemory(values: readonly string[], source: string): Readonly<Record<string, number>> {
  const sizes = values.flatMap((each) => each.split(',')).map((each) => toEngineSize(each.trim(), source));
  return Object.fromEntries(
    sizes
      .filter(({ engine }) => engine === undefined)
      .flatMap(({ mb }) => RUNTIME_NAMES.map((name) => [name, mb]))
      .concat(sizes.flatMap(({ engine, mb }) => (engine === undefined ? [] : [[engine, mb]]))),
  ) as Record<string, number>;
}

function toEngineSize(value: string, source: string): { readonly engine: string | undefined; readonly mb: number } {
  const [size = '', engine] = value.split('=', 2).reverse();
  if (engine !== undefined && !RUNTIME_NAMES.includes(engine))
    throw refuse(
      source,
      value,
      `a size, or one behind the name of an engine: ${RUNTIME_NAMES.map((name) => `${name}=512MB`).join(', ')}`,
    );
  const mb = Math.floor(toSize(size, source) / MB);
  if (mb < LEAST_MB) throw refuse(source, value, `at least ${LEAST_MB}MB`);
  return { engine, mb };
}
