/** A run that cannot go on; what was done of it stands. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped';
}
