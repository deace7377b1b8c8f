/** Reads the events of a service, line by line. */
import { request } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import type { JsonObject } from './client.ts';

export interface EventStream extends Disposable {
  readonly answer: IncomingMessage;
  /** All that came. */
  readonly events: readonly JsonObject[];
  /** The first event, past or to come, of which `matches` holds. */
  readonly seen: (matches: (event: JsonObject) => boolean) => Promise<JsonObject>;
  /** Resolves when the stream is over: true where its end came in order. */
  readonly ended: Promise<boolean>;
}

const PATIENCE_MS = 60_000;

export async function openEvents(url: string, query = '', credentials?: string): Promise<EventStream> {
  const authorization = `Basic ${Buffer.from(credentials ?? '').toString('base64')}`;
  const headers = credentials === undefined ? {} : { authorization };
  const outgoing: ClientRequest = request(`${url}/actuator/events${query}`, { headers, agent: false });
  const answer = await new Promise<IncomingMessage>((resolve, reject) =>
    outgoing.once('response', resolve).once('error', reject).end(),
  );
  const events: JsonObject[] = [];
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const look of waiting) look();
  };
  const lines = createInterface({ input: answer });
  // `ended` tells of it.
  lines.on('error', () => undefined);
  outgoing.on('error', () => undefined);
  lines.on('line', (line) => {
    events.push(JSON.parse(line) as JsonObject);
    wake();
  });
  answer.on('error', () => undefined);
  let isOver = false;
  const ended = new Promise<boolean>((resolve) =>
    answer.once('close', () => {
      isOver = true;
      wake();
      resolve(answer.complete);
    }),
  );
  return {
    answer,
    events,
    ended,
    seen: (matches) =>
      new Promise((resolve, reject) => {
        const fail = (why: string): void => reject(new Error(`${why}: ${JSON.stringify(events.slice(-5))}`));
        const timer = setTimeout(() => fail('the awaited event did not come'), PATIENCE_MS);
        const look = (): void => {
          const event = events.find(matches);
          if (event === undefined && !isOver) return;
          clearTimeout(timer);
          waiting.delete(look);
          if (event === undefined) fail('the stream ended');
          else resolve(event);
        };
        waiting.add(look);
        look();
      }),
    [Symbol.dispose]: () => void outgoing.destroy(),
  };
}
