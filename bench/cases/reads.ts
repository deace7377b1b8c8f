import type { Bench, BenchCase } from '../lib/bench.ts';
import { compare } from '../lib/compare.ts';
import { makeShelf, manyKos } from '../lib/kos.ts';
import { startBareBytes, startService } from '../lib/servers.ts';
import type { BareAnswer } from '../lib/servers.ts';

/** What `node:http` writes by itself. */
const OWN_HEADERS = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding']);

export const reads: BenchCase = {
  name: 'reads',
  about: 'GET of /kos, of one knowledge object and of /endpoints, with 1,000 on the shelf',
  async run(bench) {
    const kos = manyKos(bench.quick ? 100 : 1000);
    await using service = await startService(bench, await makeShelf(bench, kos));
    const paths = ['/kos', `/kos/${kos.at(-1)?.ko.id ?? ''}`, '/endpoints'];
    const answers = await Promise.all(paths.map((path) => answerAt(bench, service.url, path)));
    await using bare = await startBareBytes(bench, answers);
    const rows = [];
    for (const path of paths) {
      const requests = [{ method: 'GET', path }] as const;
      rows.push(
        ...(await compare(bench, {
          case: 'reads',
          what: `GET ${path}`,
          connections: [10],
          targets: [
            { name: 'bare node:http', server: bare, requests },
            { name: 'service', server: service, requests },
          ],
        })),
      );
    }
    return rows;
  },
};

/** The answer as the service gives it, for a server that only sends it: as many bytes, headers included. */
async function answerAt({ signal }: Bench, url: string, path: string): Promise<BareAnswer> {
  const response = await fetch(url + path, { signal });
  const headers = [...response.headers].filter(([name]) => !OWN_HEADERS.has(name)).flat();
  return { path, status: response.status, headers, body: await response.text() };
}
