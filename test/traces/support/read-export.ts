/**
 * Reads an `ExportTraceServiceRequest` by the published definitions, of which `opentelemetry-proto.json` is the form that
 * protobufjs reads: made of the descriptors in the Python package opentelemetry-proto 1.45.2.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import type { INamespace } from 'protobufjs';

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

/** As protobufjs gives it with the options below. */
interface Export {
  readonly resource_spans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scope_spans: readonly { readonly scope: { readonly name: string }; readonly spans: readonly Span[] }[];
  }[];
}

interface Span {
  readonly trace_id: Buffer;
  readonly span_id: Buffer;
  readonly parent_span_id: Buffer;
  readonly trace_state: string;
  readonly name: string;
  readonly kind: string;
  readonly start_time_unix_nano: string;
  readonly end_time_unix_nano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code: number } | null;
}

interface Attribute {
  readonly key: string;
  /** `value` names the one field that is set. */
  readonly value: { readonly value: string } & Readonly<Record<string, unknown>>;
}

const DEFINITIONS = JSON.parse(
  readFileSync(join(import.meta.dirname, 'opentelemetry-proto.json'), 'utf8'),
) as INamespace;
const root = protobuf.Root.fromJSON(DEFINITIONS);
const Request = root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest');
const Kind = root.lookupEnum('opentelemetry.proto.trace.v1.Span.SpanKind');
const Code = root.lookupEnum('opentelemetry.proto.trace.v1.Status.StatusCode');

export function readExport(body: Buffer): ReadSpan[] {
  const reader = protobuf.Reader.create(body);
  reader.discardUnknown = false;
  const message = Request.decode(reader);
  assert.deepEqual(unknownIn(message), [], 'fields that the definitions do not have');
  const read = Request.toObject(message, { longs: String, enums: String, defaults: true, oneofs: true }) as Export;
  return read.resource_spans.flatMap(({ resource, scope_spans }) =>
    scope_spans.flatMap(({ scope, spans }) =>
      spans.map((span) => ({ ...readSpan(span), resource: attributesOf(resource.attributes), scope: scope.name })),
    ),
  );
}

/** In the message, and in those that it holds. */
function unknownIn(message: unknown): readonly unknown[] {
  if (Array.isArray(message)) return message.flatMap(unknownIn);
  if (!(message instanceof protobuf.Message)) return [];
  return [...(message.$unknowns ?? []), ...Object.values(message).flatMap(unknownIn)];
}

function readSpan(span: Span): Omit<ReadSpan, 'resource' | 'scope'> {
  assert.deepEqual([span.trace_id.length, span.span_id.length], [16, 8]);
  assert.ok(span.kind in Kind.values, span.kind);
  return {
    ...{ traceId: span.trace_id.toString('hex'), spanId: span.span_id.toString('hex') },
    parentSpanId: span.parent_span_id.toString('hex'),
    ...{ traceState: span.trace_state, name: span.name },
    kind: span.kind.replace('SPAN_KIND_', '') as ReadSpan['kind'],
    ...{ start: BigInt(span.start_time_unix_nano), end: BigInt(span.end_time_unix_nano) },
    attributes: attributesOf(span.attributes),
    status: Code.values[String(span.status?.code ?? 'STATUS_CODE_UNSET')] ?? -1,
  };
}

const attributesOf = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => {
      const read = value[value.value];
      return [key, value.value === 'int_value' ? Number(read) : read];
    }),
  );
