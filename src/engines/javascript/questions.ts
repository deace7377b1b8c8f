/** What code asks of the activator: which endpoint has an id, and what that answers. */
import { messageOf } from '../../lib/errors.ts';
import { uptime } from '../../lib/time.ts';
import type { CallTarget } from '../engine.ts';
import type { AnswerQuestion } from '../supervisor/calls-in-turn.ts';
import type { Worker } from '../supervisor/worker.ts';
import type { AskedQuestion } from '../supervisor/from-program.ts';
import { failureLine } from '../supervisor/messages.ts';
import type { Work } from '../supervisor/work.ts';
import type { Found, LoadRequest } from './code-files.ts';
import { JavascriptExecutor, LaterExecutor } from './executor.ts';

/** What code hears in the processes of that group. */
export const answersWithin =
  (group: string): AnswerQuestion =>
  (worker, work, question) => {
    const target = work.calls[0]?.scope.find(question.id);
    if (question.what === 'find') return { text: JSON.stringify(placeOf(worker, group, target)) };
    if (target === undefined) return { text: failureLine(`${question.id} is not active`) };
    return { outside: () => callOutside(question, work) };
  };

function placeOf(worker: Worker, group: string, target: CallTarget | undefined): Found {
  if (target === undefined) return { kind: 'none' };
  const ready = target.ready();
  const executor = ready instanceof LaterExecutor ? ready.loaded : ready;
  if (!(executor instanceof JavascriptExecutor) || executor.group !== group) return { kind: 'elsewhere' };
  const { endpoint } = executor;
  const at = { kind: 'here' as const, slot: endpoint.index, limit: endpoint.limit };
  return worker.knows(endpoint) ? at : { ...at, load: JSON.parse(endpoint.text) as LoadRequest };
}

/** A call of an endpoint in another engine or in other processes, or of one that is not activated or whose code is not read yet. */
async function callOutside(question: AskedQuestion, work: Work): Promise<string> {
  const outer = work.calls[0];
  if (outer === undefined) return 'null';
  // Of calls that share a batch nobody knows which one asks.
  const { trace, signal } = work.size === 1 ? outer : NOBODY;
  const { id, body, contentType, depth } = question;
  try {
    return await outer.scope.call(id, {
      body,
      contentType: contentType === '' ? 'text/plain' : contentType,
      json: contentType === 'application/json',
      deadline: uptime() + question.left,
      depth,
      trace,
      signal,
    });
  } catch (thrown) {
    return failureLine(messageOf(thrown));
  }
}

const NOBODY = { trace: undefined, signal: undefined };
