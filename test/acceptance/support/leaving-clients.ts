/** Clients that go away before they have an answer. */
import { readdir } from 'node:fs/promises';
import { request } from 'node:http';
import type { ClientRequest } from 'node:http';
import { until } from '../../runtimes/support/until.ts';
import type { OwnService } from './service.ts';

/** Sends calls that the service has all received, each on a connection of its own, and gives what lets them go, until the service knows it. */
export async function callsThatLeave(
  service: OwnService,
  path: string,
  bodies: readonly unknown[],
): Promise<{ leave: () => Promise<void> }> {
  const before = await requestsOf(service);
  const clients: ClientRequest[] = bodies.map((body) => {
    const client = request(new URL(path, service.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      agent: false,
    });
    // That it was let go is no error.
    client.on('error', () => undefined).end(JSON.stringify(body));
    return client;
  });
  let asked = 0;
  await until('the service has all calls', async () => {
    asked++;
    return (await requestsOf(service)) >= before + asked + clients.length ? true : undefined;
  });
  return {
    leave: async () => {
      const open = await handlesOf(service);
      for (const client of clients) client.destroy();
      const left = async () => (await handlesOf(service)) <= open - clients.length + OTHER_HANDLES;
      await until('the service knows that they left', async () => ((await left()) ? true : undefined));
    },
  };
}

/** Files and connections that may have opened meanwhile, such as those to sandboxes. */
const OTHER_HANDLES = 30;

const handlesOf = async ({ pid }: OwnService): Promise<number> => (await readdir(`/proc/${pid}/fd`)).length;

async function requestsOf(service: OwnService): Promise<number> {
  const { totals } = (await service.get('/actuator/info')).object as { totals: { requests: number } };
  return totals.requests;
}
