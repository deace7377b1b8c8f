/** What a principal may: roles on everything, on a naan, on a knowledge object or on one version of it. */
import { isKoPart } from '../knowledge-object/id.ts';
import type { KoId } from '../knowledge-object/id.ts';
import { isForAll, PERMISSION_NAMES, permissionsOf, ROLES } from './permissions.ts';
import type { Permission, Role } from './permissions.ts';

/** The knowledge objects that a permission is asked for: a version, all of a name or naan, or, empty, the whole service. */
export type Resource = Partial<KoId>;

/** One grant, parsed. */
interface Grant {
  readonly role: Role;
  /** `<naan>`, `<naan>/<name>` or `<naan>/<name>/<version>`; empty: everything. */
  readonly place: string;
}

/** How a grant is written, for messages. */
export const GRANT_FORM = `<role>, <role>@<naan>, <role>@<naan>/<name> or <role>@<naan>/<name>/<version>, with a role of ${ROLES.join(', ')}`;

const FOR_ALL = PERMISSION_NAMES.filter(isForAll);

export class Grants {
  static readonly NONE = new Grants([]);
  /** In the form of `GRANT_FORM`, each once, in order. */
  readonly texts: readonly string[];
  /** Equal grants have equal keys. */
  readonly key: string;
  readonly #everywhere: ReadonlySet<Permission>;
  /** By place. */
  readonly #places: ReadonlyMap<string, ReadonlySet<Permission>>;

  private constructor(texts: readonly string[], more: readonly Permission[] = []) {
    this.texts = [...new Set(texts)].sort();
    this.key = [...this.texts, ...more].join(' ');
    const everywhere = new Set<Permission>([...FOR_ALL, ...more]);
    const places = new Map<string, Set<Permission>>();
    for (const { role, place } of this.texts.flatMap((text) => parse(text) ?? [])) {
      const held = place === '' ? everywhere : (places.get(place) ?? new Set());
      if (place !== '') places.set(place, held);
      for (const each of permissionsOf(role)) held.add(each);
    }
    this.#everywhere = everywhere;
    this.#places = places;
  }

  /** What is no grant gives nothing. */
  static of(texts: readonly string[]): Grants {
    return new Grants(texts);
  }

  /** On everything, beside what a role of their own gives. */
  static permitting(texts: readonly string[], more: readonly Permission[]): Grants {
    return new Grants(texts, more);
  }

  /** What either has. */
  and(other: Grants): Grants {
    const more = PERMISSION_NAMES.filter((each) => this.#everywhere.has(each) || other.#everywhere.has(each));
    return new Grants([...this.texts, ...other.texts], more);
  }

  /** On everything. */
  everywhere(permission: Permission): boolean {
    return this.#everywhere.has(permission);
  }

  /** On something at least. */
  somewhere(permission: Permission): boolean {
    return this.#everywhere.has(permission) || [...this.#places.values()].some((held) => held.has(permission));
  }

  allow(permission: Permission, { naan, name, version }: Resource): boolean {
    if (this.#everywhere.has(permission)) return true;
    if (naan === undefined || this.#places.size === 0) return false;
    if (this.#places.get(naan)?.has(permission) === true) return true;
    if (name === undefined) return false;
    if (this.#places.get(`${naan}/${name}`)?.has(permission) === true) return true;
    return version !== undefined && this.#places.get(`${naan}/${name}/${version}`)?.has(permission) === true;
  }
}

export const isGrant = (text: string): boolean => parse(text) !== undefined;

function parse(text: string): Grant | undefined {
  const at = text.indexOf('@');
  const [word, place] = at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
  const role = ROLES.find((each) => each === word);
  if (role === undefined) return undefined;
  if (at < 0) return { role, place };
  const parts = place.split('/');
  return parts.length <= 3 && parts.every(isKoPart) && role !== 'metrics' ? { role, place } : undefined;
}
