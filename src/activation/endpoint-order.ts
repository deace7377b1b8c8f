/** The order of all endpoints, and places in it that outlive what stood there. */
import { isEndpointPart, isKoPart } from '../knowledge-object/id.ts';
import { compareNames, compareText } from '../knowledge-object/id-order.ts';
import type { KoId } from '../knowledge-object/id.ts';
import { compareVersions } from '../knowledge-object/version-order.ts';

/** Where an endpoint stands. */
export interface EndpointPlace {
  readonly ko: { readonly id: KoId };
  readonly apiVersion: string;
  readonly name: string;
  readonly entry: { readonly method: string };
}

/** By naan, name, API version, KO version, endpoint and method: no two have one place. */
export function comparePlaces(a: EndpointPlace, b: EndpointPlace): number {
  return (
    compareNames(a.ko.id, b.ko.id) ||
    compareVersions(a.apiVersion, b.apiVersion) ||
    compareVersions(a.ko.id.version, b.ko.id.version) ||
    compareText(a.name, b.name) ||
    compareText(a.entry.method, b.entry.method)
  );
}

/** The place as a text, which says all that the order needs. */
export const placeText = ({ ko: { id }, apiVersion, name, entry }: EndpointPlace): string =>
  `${id.naan}/${id.name}/${apiVersion}/${name},${id.version},${entry.method}`;

/** Reads what `placeText` gave; undefined where it is none. */
export function parsePlace(text: string): EndpointPlace | undefined {
  const [method = '', version = '', ...address] = text.split(',').reverse();
  const [naan = '', name = '', apiVersion = '', ...endpoint] = address.reverse().join(',').split('/');
  const isPlace = [naan, name, version].every(isKoPart) && isEndpointPart(apiVersion) && endpoint.join('/') !== '';
  if (!isPlace || !/^[a-z]{1,16}$/.test(method)) return undefined;
  return { ko: { id: { naan, name, version } }, apiVersion, name: endpoint.join('/'), entry: { method } };
}
