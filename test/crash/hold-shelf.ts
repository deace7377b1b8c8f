/** Opens the shelf folder that is its argument, says `ready`, and holds it until it is killed. */
import { openShelf } from '../../src/shelf/stores.ts';

await openShelf(process.argv[2] ?? '', { address: 'http://127.0.0.1:9' });
process.stdout.write('ready');
setInterval(() => undefined, 1000);
