/** Lets pass what may be right: where a part of a schema is not known, "exactly one" and "not" cannot be decided. */
import { isObject } from '../../lib/json.ts';

type Schemas = Readonly<Record<string, unknown>>;

/** Changes the definitions. `lossy`: schemas of which a part is left out; `anything`: what stands for those not known. */
export function relax(
  defs: Schemas,
  references: ReadonlyMap<string, ReadonlySet<string>>,
  lossy: ReadonlySet<unknown>,
  anything: unknown,
): void {
  const holds = (value: unknown, unknown: ReadonlySet<string>): boolean => {
    if (value === anything || lossy.has(value)) return true;
    if (Array.isArray(value)) return value.some((each) => holds(each, unknown));
    if (!isObject(value)) return false;
    const reference = value['$ref'];
    if (typeof reference === 'string' && unknown.has(reference.slice(reference.lastIndexOf('/') + 1))) return true;
    return Object.entries(value).some(([key, each]) => key !== 'enum' && key !== 'const' && holds(each, unknown));
  };
  const unknown = new Set(Object.keys(defs).filter((name) => holds(defs[name], new Set())));
  if (unknown.size === 0) return;
  const users = new Map<string, string[]>();
  for (const [user, used] of references) for (const each of used) users.set(each, [...(users.get(each) ?? []), user]);
  const left = [...unknown];
  for (let next = left.pop(); next !== undefined; next = left.pop())
    for (const user of users.get(next) ?? []) {
      if (unknown.has(user)) continue;
      unknown.add(user);
      left.push(user);
    }

  const change = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(change);
    if (!isObject(value) || value === anything) return;
    const schema = value as Record<string, unknown>;
    for (const [key, each] of Object.entries(schema)) if (key !== 'enum' && key !== 'const') change(each);
    if (holds(schema['not'], unknown)) delete schema['not'];
    if (holds(schema['if'], unknown)) for (const key of ['if', 'then', 'else']) delete schema[key];
    if (holds(schema['contains'], unknown)) delete schema['maxContains'];
    if (Array.isArray(schema['oneOf']) && holds(schema['oneOf'], unknown)) delete schema['oneOf'];
    const isPartOf = 'unevaluatedProperties' in schema || 'unevaluatedItems' in schema;
    if (isPartOf && holds(schema, unknown))
      for (const key of ['unevaluatedProperties', 'unevaluatedItems']) delete schema[key];
  };
  for (const name of unknown) change(defs[name]);
}
