import { HeldBytes } from '../../src/execution/held-bytes.ts';
import { RecordLines } from '../../src/execution/batch/record-lines.ts';
import type { Bytes, RawRecord, Source } from './source.ts';

/** Most bytes of a record; the service has a lower limit of its own and reports it for the record. */
export const MOST_RECORD_BYTES = 64 * 1024 * 1024;

/** One JSON text a line. */
export function readNdjson({ size, stream }: Bytes): Source {
  let position = 0;
  return {
    columns: undefined,
    size,
    get position() {
      return position;
    },
    notes: [],
    async *records(skip) {
      using lines = new RecordLines(MOST_RECORD_BYTES, new HeldBytes(Infinity));
      let toSkip = skip;
      const rest = (found: readonly RawRecord[]): readonly RawRecord[] => {
        const skipped = Math.min(toSkip, found.length);
        toSkip -= skipped;
        return skipped === 0 ? found : found.slice(skipped);
      };
      const rawOf = ({ line, record }: { line: number; record: string | Error }): RawRecord => ({
        line,
        value: typeof record === 'string' && record.endsWith('\r') ? record.slice(0, -1) : record,
      });
      for await (const chunk of stream()) {
        position += chunk.length;
        const found = rest(Array.from(lines.push(chunk), rawOf));
        if (found.length > 0) yield found;
      }
      yield rest(Array.from(lines.end(), rawOf));
    },
  };
}
