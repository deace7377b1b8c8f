/** Holds the table of docs/security.md to outcomes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT } from '../../acceptance/support/service.ts';
import { attempts } from '../attempts/all.ts';
import { AIMS } from './attempt.ts';
import type { Aim, Kind } from './attempt.ts';
import { idOf } from './outcomes.ts';
import type { Outcomes } from './outcomes.ts';

const HEADING = '## What code reaches';
const AIM_NAMES = Object.keys(AIMS) as Aim[];

type Cell = 'no' | 'no ¹' | 'some' | 'yes';

/** What came of those that this machine grants at all; `no ¹`: but for those that are known to be open, which the section lists. */
export function cellOf(aim: Aim, kind: Kind, granted: Outcomes, outcomes: Outcomes): Cell {
  const counted = attempts.filter((each) => each.aim === aim && granted.get(idOf(each)) === true);
  const through = counted.filter((each) => outcomes.get(idOf(each)) === true);
  if (through.length === 0) return 'no';
  if (through.every(({ open }) => open?.[kind] !== undefined)) return 'no ¹';
  return through.length === counted.length ? 'yes' : 'some';
}

/** Each cell of one row. */
export function demandRow(kind: Kind, row: string, who: string, granted: Outcomes, outcomes: Outcomes): void {
  const cells = AIM_NAMES.map((aim) => cellOf(aim, kind, granted, outcomes));
  AIM_NAMES.forEach((aim, column) => {
    test(`docs/security.md, ${kind}, ${row} (${who}): ${AIMS[aim]}`, () => {
      assert.equal(
        table().get(`${kind}, ${row}`)?.[column],
        cells[column],
        `the row is | ${kind}, ${row} | ${cells.join(' | ')} |`,
      );
    });
  });
}

/** All that gets through the walls of a kind is named in the section, with its reason. */
export function demandReasons(kind: Kind): void {
  test(`docs/security.md has a column for each aim of attempts from ${kind}`, () => {
    assert.deepEqual(table().get('Where'), Object.values(AIMS));
  });
  for (const { name, open } of attempts) {
    const reason = open?.[kind];
    if (reason === undefined) continue;
    test(`docs/security.md says of ${kind} why it reaches: ${name}`, () => {
      const line = section()
        .replaceAll(/\s+/g, ' ')
        .split('- ')
        .find((each) => each.includes(reason));
      assert.ok(line?.includes(name) === true && line.includes(kind), `a line with: ${kind}, ${name}, ${reason}`);
    });
  }
}

const section = (): string =>
  readFileSync(join(PROJECT, 'docs/security.md'), 'utf8').split(`${HEADING}\n`)[1]?.split('\n## ')[0] ?? '';

let read: ReadonlyMap<string, readonly string[]> | undefined;

/** Cells of each row by its first. */
export function table(): ReadonlyMap<string, readonly string[]> {
  if (read !== undefined) return read;
  const rows = section()
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
  return (read = new Map(rows.map(([first = '', ...cells]) => [first, cells])));
}
