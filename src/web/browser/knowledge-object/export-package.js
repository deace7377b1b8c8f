// Saves a package as a file, with the login that is given in a header: a link could not send it.
import { pathOf, send } from '../shared/api.js';

const MOST_BYTES = 512 * 1024 * 1024;

async function boundedBlob(response) {
  const chunks = [];
  let size = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(chunks, { type: 'application/zip' });
    size += value.length;
    if (size > MOST_BYTES) {
      await reader.cancel();
      throw new Error('The package is larger than a browser should hold: save it with curl, from ' + response.url);
    }
    chunks.push(value);
  }
}

export function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser reads it after this turn.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export async function exportKo(id) {
  const response = await send('GET', 'kos/' + pathOf(id) + '?format=zip');
  const [, name = 'package.zip'] = /filename="([\w.-]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? [];
  save(await boundedBlob(response), name);
}
