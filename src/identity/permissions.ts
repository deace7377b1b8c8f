/** What somebody may be allowed to do: each route declares one of these words, and each role has some of them. */

/** Each has all of the next one; `metrics` stands alone. */
export const ROLES = ['operator', 'author', 'caller', 'reader', 'metrics'] as const;
export type Role = (typeof ROLES)[number];

interface Rule {
  /** The least role that has it; undefined: everybody. */
  readonly role: Role | undefined;
  /** A page of another site must not be able to do it, and it leaves an audit line. */
  readonly isChange: boolean;
  /**
   * Who asks without naming a knowledge object: `each` may go on with a grant on any, as the handler asks again with the
   * knowledge object at hand; `whole` needs a grant on everything.
   */
  readonly without: 'each' | 'whole';
}

const PERMISSIONS = {
  /** Of the service and not of knowledge objects, such as pages, probes and refused methods. */
  public: { role: undefined, isChange: false, without: 'each' },
  /** Everybody; who may see `info` gets details. */
  health: { role: undefined, isChange: false, without: 'each' },
  /** What is on the shelf and what is active. */
  read: { role: 'reader', isChange: false, without: 'each' },
  execution: { role: 'caller', isChange: false, without: 'each' },
  'shelf-write': { role: 'author', isChange: true, without: 'each' },
  activation: { role: 'author', isChange: true, without: 'whole' },
  /** What knowledge objects print, why they fail, and what is kept of them. */
  'ko-details': { role: 'author', isChange: false, without: 'each' },
  'runtime-list': { role: 'reader', isChange: false, without: 'whole' },
  'runtime-registration': { role: 'operator', isChange: true, without: 'whole' },
  'log-level': { role: 'operator', isChange: true, without: 'whole' },
  info: { role: 'operator', isChange: false, without: 'whole' },
  metrics: { role: 'metrics', isChange: false, without: 'whole' },
  'account-list': { role: 'operator', isChange: false, without: 'whole' },
  /** Users and keys. */
  accounts: { role: 'operator', isChange: true, without: 'whole' },
} as const satisfies Record<string, Rule>;

export type Permission = keyof typeof PERMISSIONS;

export const PERMISSION_NAMES = Object.keys(PERMISSIONS) as readonly Permission[];

export const isPermission = (value: unknown): value is Permission =>
  typeof value === 'string' && Object.hasOwn(PERMISSIONS, value);

/** True for what a page of another site must not be able to do, and what leaves an audit line. */
export const isChange = (permission: Permission): boolean => PERMISSIONS[permission].isChange;

/** True for what everybody may. */
export const isForAll = (permission: Permission): boolean => PERMISSIONS[permission].role === undefined;

/** True where a grant on some knowledge object is enough to go on without naming one. */
export const isAskedForEach = (permission: Permission): boolean => PERMISSIONS[permission].without === 'each';

/** All that a role may. */
export const permissionsOf = (role: Role): readonly Permission[] =>
  PERMISSION_NAMES.filter((name) => {
    const needed: Role | undefined = PERMISSIONS[name].role;
    return needed === undefined || needed === role || role === 'operator' || isAbove(role, needed);
  });

const isAbove = (role: Role, needed: Role): boolean =>
  role !== 'metrics' && needed !== 'metrics' && ROLES.indexOf(role) < ROLES.indexOf(needed);
