// Packages that can be read and compared: what is on the shelf, and what was there before and is kept.
import { pathOf } from './api.js';

/** @typedef {{key: string, label: string, list: string, file: (path: string) => string}} Source */

/** @returns {Source} */
export const onShelf = (id, label = id.split('/')[2]) => ({
  key: id,
  label,
  list: 'doc/files/' + pathOf(id),
  file: (path) => 'kos/' + pathOf(id) + '/' + pathOf(path),
});

/** @returns {Source} */
export const kept = (id, digest) => {
  const place = 'actuator/removed/' + pathOf(id) + '/' + encodeURIComponent(digest);
  return { key: digest, label: digest.slice(7, 19), list: place, file: (path) => place + '/' + pathOf(path) };
};
