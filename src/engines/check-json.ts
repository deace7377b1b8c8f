import { bodyNotReadable, messageOf } from '../lib/errors.ts';

/** Refuses a body that is not JSON before code is asked. @throws bodyNotReadable. */
export function checkJson(body: string | Buffer): void {
  try {
    JSON.parse(body.toString());
  } catch (thrown) {
    throw bodyNotReadable(`The request body is not JSON: ${messageOf(thrown)}`, { cause: thrown });
  }
}
