/** What people and assistants need to call endpoints of one knowledge object, as JSON texts of `FormParts`. */
import type { Endpoint } from '../../activation/endpoint.ts';
import { digestOf } from '../../lib/text.ts';
import { Forms } from './forms.ts';

export class EndpointForms implements AsyncDisposable {
  readonly #forms = new Forms();

  /** Of endpoints of the knowledge object of `one`, in their order. @throws overloaded; where a file cannot be read. */
  async of({ ko }: Endpoint, endpoints: readonly Endpoint[]): Promise<readonly string[]> {
    // It may be replaced meanwhile.
    ko.retain();
    try {
      const { digest } = ko.entry;
      return await this.#forms.of({
        digest: ko.library === undefined ? digest : `${digest} ${digestOf(ko.library.descriptor)}`,
        endpoints: endpoints.map(({ entry, from, accepts }) => ({
          file: from.service.file,
          path: entry.path,
          method: entry.method,
          accepts,
        })),
        size: (path) => ko.sizeOf(path),
        read: async (path) => (ko.made(path) === undefined ? (await ko.open()).read(path) : ko.artifact(path)),
      });
    } finally {
      ko.release();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#forms[Symbol.asyncDispose]();
  }
}
