import type { Readable } from 'node:stream';
import { AnswerTooLarge } from './runtime.ts';

/** All bytes of a body. @throws AnswerTooLarge beyond `limit` bytes; the connection ends then. */
export async function readBounded(body: Readable, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) {
      body.destroy();
      throw new AnswerTooLarge(`the answer is larger than the limit of ${limit} bytes (--max-result)`);
    }
    chunks.push(chunk);
  }
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
}
