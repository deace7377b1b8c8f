/** Ends them all at a time. @throws AggregateError. */
export async function disposeAll(owned: Iterable<AsyncDisposable>): Promise<void> {
  const ends = await Promise.allSettled([...owned].map(async (each) => each[Symbol.asyncDispose]()));
  const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  if (errors.length > 0) throw new AggregateError(errors, 'Some could not be ended');
}

/** What the ends that failed threw, one by one, the first first: stacks of what is owned nest them. */
export function errorsIn(thrown: unknown): unknown[] {
  if (thrown instanceof AggregateError) return thrown.errors.flatMap(errorsIn);
  if (thrown instanceof SuppressedError) return [...errorsIn(thrown.suppressed), ...errorsIn(thrown.error)];
  return [thrown];
}
