/** What one installation may take of the disk, for every engine; counted while it is written. */
export const INSTALL_LIMITS = { bytes: 4 * 2 ** 30, files: 200_000 } as const;

export type InstallLimits = { readonly [Limit in keyof typeof INSTALL_LIMITS]: number };
