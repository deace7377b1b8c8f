/** What somebody may be allowed to do: each route declares one of these words. */

interface Rule {
  /** Whether the secured profile asks for a login. */
  readonly needsLogin: boolean | 'with secureExecution';
  /** A page of another site must not be able to do it, and it leaves an audit line. */
  readonly isChange: boolean;
}

const PERMISSIONS = {
  /** Everybody. */
  open: { needsLogin: false, isChange: false },
  execution: { needsLogin: 'with secureExecution', isChange: false },
  'shelf-write': { needsLogin: true, isChange: true },
  activation: { needsLogin: true, isChange: true },
  'runtime-registration': { needsLogin: true, isChange: true },
  'log-level': { needsLogin: true, isChange: true },
  info: { needsLogin: true, isChange: false },
  /** Everybody; who has a login sees details. */
  health: { needsLogin: false, isChange: false },
} as const satisfies Record<string, Rule>;

export type Permission = keyof typeof PERMISSIONS;

export const isPermission = (value: unknown): value is Permission =>
  typeof value === 'string' && Object.hasOwn(PERMISSIONS, value);

/** True for what a page of another site must not be able to do, and what leaves an audit line. */
export const isChange = (permission: Permission): boolean => PERMISSIONS[permission].isChange;

/** True for what the secured profile closes. */
export function needsLogin(permission: Permission, secureExecution: boolean): boolean {
  const { needsLogin: needs } = PERMISSIONS[permission];
  return needs === true || (needs !== false && secureExecution);
}
