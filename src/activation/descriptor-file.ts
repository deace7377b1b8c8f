/** A descriptor of a package, which is read only when its text is asked for: a start may know it by its digest. */
import { digestOf } from '../lib/digest.ts';
import type { KoPackage } from '../shelf/shelf.ts';

export class DescriptorFile {
  readonly path: string;
  readonly #package: KoPackage;
  #text: Promise<string> | undefined;

  constructor(pkg: KoPackage, path: string) {
    this.path = path;
    this.#package = pkg;
  }

  get wasRead(): boolean {
    return this.#text !== undefined;
  }

  text(): Promise<string> {
    this.#text ??= this.#package.read(this.path).then((bytes) => bytes.toString('utf8'));
    return this.#text;
  }

  /** The same for the same text. */
  async digest(): Promise<string> {
    return this.#package.digestOf(this.path) ?? digestOf(await this.text());
  }
}
