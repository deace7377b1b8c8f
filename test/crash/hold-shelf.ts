/** Opens the shelf folder that is its argument, says `ready`, and holds it until it is killed. */
import { openFileShelf } from '../../src/shelf/file-store/open-file-shelf.ts';

await openFileShelf(process.argv[2] ?? '', { address: 'http://127.0.0.1:9' });
process.stdout.write('ready');
setInterval(() => undefined, 1000);
