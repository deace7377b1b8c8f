// @ts-check
/**
 * The last wall, which a program lays by itself once it has all that it needs, before any code of others: from then on
 * it opens nothing. Plain JavaScript, for programs that start without a stripper of types.
 */
import { openKernel } from './kernel-calls.js';

/**
 * @typedef {object} LastWall
 * @property {string} koffi path of its native part
 * @property {import('./bpf.ts').Filter | undefined} [filter]
 */

/** @type {LastWall | null | undefined} */
let wall;

/** @param {LastWall | null} given null: there are no walls here. */
export function prepareLastWall(given) {
  wall = given;
}

/** @throws {Error} where it cannot be laid. */
export function layLastWall() {
  if (wall === undefined || wall === null) return;
  // The time zone is read from files, once for all.
  new Date().getTimezoneOffset();
  const kernel = openKernel(wall.koffi);
  kernel.hide();
  if (wall.filter !== undefined) kernel.filterCallsOfAll(wall.filter);
}
