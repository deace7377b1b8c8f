// Brings a package back that was deleted or replaced, so that it runs.
import { activate, get, pathOf, send } from './api.js';

/** `{etag, digest}` of what is on the shelf; undefined where there is nothing. */
export const presentOf = async (ko) =>
  (await get('doc/about/' + pathOf(ko)).catch((error) => (error.status === 404 ? {} : Promise.reject(error)))).shelf;

/**
 * What is restored is activated too, since it is wanted to run. `etag`: of what is there now, so that nothing is replaced
 * that came meanwhile.
 */
export async function restore(ko, digest, etag) {
  await send('POST', 'kos/' + pathOf(ko) + '/restore?' + new URLSearchParams({ digest }), {
    headers: etag === undefined ? {} : { 'if-match': etag },
  });
  await activate(ko).catch((error) => {
    throw new Error(ko + ' is on the shelf again, but was not activated: ' + error.message);
  });
}
