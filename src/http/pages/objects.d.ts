/** As the overview shows it. */
export interface ShownObject {
  readonly path: string;
  readonly title: string;
  /** Its `@id`, where that is not its place. */
  readonly atId?: string;
  readonly endpoints: readonly { readonly status: string; readonly detail?: string }[];
}

export function objectsOf(given: {
  readonly endpoints: readonly unknown[];
  readonly shelf: readonly unknown[];
  readonly failures: readonly unknown[] | undefined;
  readonly state: unknown;
}): ShownObject[];
