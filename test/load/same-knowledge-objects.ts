/**
 * Clients who import, replace, read, call, reload and delete the same knowledge objects for a while:
 * `node test/load/same-knowledge-objects.ts [--seconds 60] [--seed N] [--clients 20]`.
 */
import { parseArgs } from 'node:util';
import { startService } from '../acceptance/support/service.ts';
import { runMixedLoad } from './support/mixed-load.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    clients: { type: 'string', default: '20' },
  },
});
console.log(`seed ${values.seed}`);
await using service = await startService();
const counts = await runMixedLoad(service, {
  seconds: Number(values.seconds),
  seed: Number(values.seed),
  clients: Number(values.clients),
});
console.log(JSON.stringify(counts));
console.log('every answer was one whole version, and what was acknowledged last is there');
