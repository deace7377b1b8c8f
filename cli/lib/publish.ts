/** Brings packed knowledge objects to an activator elsewhere. */
import { setTimeout as wait } from 'node:timers/promises';
import type { LoadedKo } from '../../src/activation/loaded-ko.ts';
import type { KoSource } from '../../src/check/ko-source.ts';
import { type ActivatorClient, type ListedEndpoint, refusal } from './client.ts';
import type { Terminal } from './terminal.ts';

/** A knowledge object that is fit to be uploaded. */
export interface Ready {
  readonly source: KoSource;
  readonly ko: LoadedKo;
  /** A zip or a tar. */
  readonly archive: Buffer<ArrayBuffer>;
}

/** Gives what it took the place of, if anything. @throws CommandFailure when it is not taken. */
export async function upload(
  { ko, archive }: Ready,
  client: ActivatorClient,
  terminal: Terminal,
): Promise<string | undefined> {
  terminal.progress(`uploading ${ko.key} …`);
  const body = new FormData();
  body.append('ko', new Blob([archive]), ko.key.replaceAll('/', '-'));
  const answer = await client.send('/kos', { method: 'POST', body });
  if (answer.status !== 200) throw refusal(answer, client, `does not take ${ko.key}`);
  const replaced = answer.headers.get('kgrid-replaced') ?? undefined;
  terminal.print(`${ko.key} is on the shelf of ${client.url}`);
  return replaced;
}

/** Gives its endpoints when all are decided. @throws CommandFailure. */
export async function activate(
  ko: Pick<LoadedKo, 'key'>,
  client: ActivatorClient,
  terminal: Terminal,
): Promise<ListedEndpoint[]> {
  terminal.progress(`activating ${ko.key} …`);
  const answer = await client.send(`/actuator/activation/reload/${ko.key}`);
  if (answer.status !== 303) throw refusal(answer, client, `does not activate ${ko.key}`);
  for (;;) {
    const endpoints = await client.endpointsOf(ko.key);
    const slow = endpoints.find(({ status }) => status === 'LOADED');
    if (slow === undefined) return endpoints;
    terminal.progress(`${slow.id}: ${slow.detail ?? 'is being activated'} …`);
    await wait(POLL_MS);
  }
}

const POLL_MS = 500;
