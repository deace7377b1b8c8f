/** Why a connection is not made, in one sentence for the author of the knowledge object and the operator. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  /** Status of the answer. */
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
