/**
 * Takes each step after the one before, also after one that failed: what ends has more to end.
 * @throws AggregateError with what the steps threw.
 */
export async function inOrder(steps: Iterable<() => unknown>): Promise<void> {
  const errors: unknown[] = [];
  const note = (thrown: unknown): void => {
    if (thrown instanceof AggregateError) errors.push(...(thrown.errors as unknown[]));
    else errors.push(thrown);
  };
  for (const step of steps) {
    try {
      await step();
    } catch (thrown) {
      note(thrown);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, 'Some steps failed');
}

/** Ends them all at a time. @throws AggregateError. */
export async function disposeAll(owned: Iterable<AsyncDisposable>): Promise<void> {
  const ends = await Promise.allSettled([...owned].map(async (each) => each[Symbol.asyncDispose]()));
  const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  if (errors.length > 0) throw new AggregateError(errors, 'Some could not be ended');
}
