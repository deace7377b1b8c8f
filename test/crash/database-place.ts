/** Which fleet in which database a folder of a crash test stands for. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface DatabasePlace {
  readonly url: string;
  readonly fleet: string;
}

const NAME = 'place.json';

export const notePlace = (dir: string, place: DatabasePlace): void =>
  writeFileSync(join(dir, NAME), JSON.stringify(place));

export const placeIn = (dir: string): DatabasePlace =>
  JSON.parse(readFileSync(join(dir, NAME), 'utf8')) as DatabasePlace;
