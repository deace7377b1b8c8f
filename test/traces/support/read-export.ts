/**
 * Reads an `ExportTraceServiceRequest` by the definitions in opentelemetry/proto/{common,resource,trace}/v1/*.proto and
 * https://protobuf.dev/programming-guides/encoding. Fields that those do not have are refused.
 */
import assert from 'node:assert/strict';

export interface ReadSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: 'INTERNAL' | 'SERVER' | 'CLIENT';
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 0: unset, 1: ok, 2: error. */
  readonly status: number;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: string;
}

type Field = readonly [number: number, value: Buffer | bigint];

const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'];

function fieldsOf(bytes: Buffer, known: readonly number[]): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = BigInt(bytes.readUInt8(at++));
      value |= (byte & 0x7fn) << shift;
      if (byte < 0x80n) return value;
    }
  };
  while (at < bytes.length) {
    const key = Number(varint());
    const number = key >> 3;
    assert.ok(known.includes(number), `field ${number} is not among ${known.join()}`);
    switch (key & 7) {
      case 0:
        fields.push([number, varint()]);
        break;
      case 1:
        fields.push([number, bytes.readBigUInt64LE(at)]);
        at += 8;
        break;
      case 2: {
        const length = Number(varint());
        assert.ok(at + length <= bytes.length);
        fields.push([number, bytes.subarray(at, at + length)]);
        at += length;
        break;
      }
      case 5:
        fields.push([number, BigInt(bytes.readUInt32LE(at))]);
        at += 4;
        break;
      default:
        assert.fail(`wire type ${key & 7}`);
    }
  }
  return fields;
}

const parts = (fields: readonly Field[], number: number): Buffer[] =>
  fields.flatMap(([each, value]) => (each === number && Buffer.isBuffer(value) ? [value] : []));
const part = (fields: readonly Field[], number: number): Buffer => parts(fields, number)[0] ?? Buffer.alloc(0);
const whole = (fields: readonly Field[], number: number): bigint =>
  fields.flatMap(([each, value]) => (each === number && typeof value === 'bigint' ? [value] : []))[0] ?? 0n;

export function readExport(body: Buffer): ReadSpan[] {
  return parts(fieldsOf(body, [1]), 1).flatMap((bytes) => {
    const ofResource = fieldsOf(bytes, [1, 2, 3]);
    const resource = attributesOf(parts(fieldsOf(part(ofResource, 1), [1, 2, 3]), 1));
    return parts(ofResource, 2).flatMap((each) => {
      const ofScope = fieldsOf(each, [1, 2, 3]);
      const scope = String(part(fieldsOf(part(ofScope, 1), [1, 2, 3, 4]), 1));
      return parts(ofScope, 2).map((span) => ({ ...readSpan(span), resource, scope }));
    });
  });
}

function readSpan(bytes: Buffer): Omit<ReadSpan, 'resource' | 'scope'> {
  const fields = fieldsOf(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
  const [traceId, spanId] = [part(fields, 1), part(fields, 2)];
  assert.deepEqual([traceId.length, spanId.length], [16, 8]);
  return {
    ...{ traceId: traceId.toString('hex'), spanId: spanId.toString('hex') },
    parentSpanId: part(fields, 4).toString('hex'),
    traceState: String(part(fields, 3)),
    name: String(part(fields, 5)),
    kind: KINDS[Number(whole(fields, 6))] as ReadSpan['kind'],
    ...{ start: whole(fields, 7), end: whole(fields, 8) },
    attributes: attributesOf(parts(fields, 9)),
    status: Number(whole(fieldsOf(part(fields, 15), [2, 3]), 3)),
  };
}

function attributesOf(pairs: readonly Buffer[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const fields = fieldsOf(pair, [1, 2]);
      const [value] = fieldsOf(part(fields, 2), [1, 2, 3, 4, 5, 6, 7]);
      const read = Buffer.isBuffer(value?.[1])
        ? String(value[1])
        : value?.[0] === 2
          ? value[1] === 1n
          : Number(value?.[1]);
      return [String(part(fields, 1)), read];
    }),
  );
}
