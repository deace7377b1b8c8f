/** What code asks while it answers a call: results of other endpoints, and what the service says of them. */
import type { Clock } from './clock.ts';
import { questionOf } from './from-program.ts';
import { leftForOthers } from './worker-policy.ts';
import type { WorkerPolicy } from './worker-policy.ts';
import type { PendingCall } from './work.ts';
import type { Open } from './worker-context.ts';

export interface Reply {
  /** HTTP status. */
  readonly status: number;
  /** JSON `{result}` or `{description}`. */
  readonly body: string;
}

const MAX_SHOWN_CHARACTERS = 200;

/** What the code of open work asks, where that may. Never rejects. */
export async function answerTo(
  open: Open | undefined,
  text: string,
  clock: Clock,
  policy: WorkerPolicy,
): Promise<Reply> {
  const [call] = open?.work.calls ?? [];
  if (open === undefined || call === undefined || open.work.hasEnded)
    return refuse('Another endpoint can be called only while a call is being answered');
  const most = policy.mostQuestions * (call.sink?.count ?? 1);
  if (open.questions > most) return refuse(`One call waits for ${policy.mostQuestions} others already`);
  return answerQuestion(call, text, clock);
}

/** `call`: the one whose code asks; its scope answers, at its depth and within the time that it has left. Never rejects. */
async function answerQuestion(call: PendingCall, text: string, clock: Clock): Promise<Reply> {
  try {
    const { what, id: uri, contentType, body } = questionOf(text);
    const id = uri.replace(/^(ark:)?\/*/, '');
    if (id === '') return refuse(`Not an endpoint: ${uri.slice(0, MAX_SHOWN_CHARACTERS)}`);
    if (what === 'metadata') {
      const described = await call.scope.describe?.(id);
      return described === undefined
        ? refuse(`No endpoints found for ${id}`)
        : { status: 200, body: `{"result":${described}}` };
    }
    const now = clock.now();
    const result = await call.scope.call(id, {
      body,
      contentType,
      json: JSON_TYPE.test(contentType),
      deadline: now + leftForOthers(call.deadline - now),
      depth: call.depth + 1,
      trace: call.trace,
      signal: call.signal,
    });
    return { status: 200, body: `{"result":${result}}` };
  } catch (thrown) {
    return refuse(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

const JSON_TYPE = /^\s*[\w.-]+\/([\w.-]+\+)?json\s*(;|$)/i;

const refuse = (description: string): Reply => ({ status: 500, body: JSON.stringify({ description }) });
