import type { CallTrace } from '../engines/engine.ts';

/** By which lines of the log about a call are found. */
export const traceNames = (trace: CallTrace | undefined): Omit<CallTrace, 'tracestate' | 'span'> | undefined =>
  trace && { requestId: trace.requestId, traceparent: trace.traceparent, executionId: trace.executionId };
