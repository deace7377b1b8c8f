/** A decision table, one row a line: `when,then`. */
import { engineConformance } from '../../test/conformance/engine.ts';
import { TestJavascript } from '../../test/support/javascript.ts';
import { ProgramEngine } from './program-engine.ts';

const MAX_RESULT_BYTES = 100_000;
/** Of what does not end. */
const LIMIT_MS = 500;
const MAIN = `
const { rowsOf } = require('./rows.js');
module.exports = (artifacts, { entry }) => {
  if (entry.endsWith('.json')) JSON.parse(artifacts[entry]);
  const rows = rowsOf(artifacts[entry], entry);
  return (input) => {
    const row = rows.find(([when]) => when === '*' || when === input);
    if (row === undefined) throw new Error('no row is for ' + input);
    if (row[1] === 'endless') for (;;);
    return row[1] === 'input' ? input : row[1];
  };
};`;
const ROWS = `
exports.rowsOf = (text, file) => text.trim().split('\\n').map((line, i) => {
  const cells = line.split(',');
  if (cells[0] === 'endless') for (;;);
  if (cells.length !== 2) throw new Error('a row has a condition and a result (' + file + ' line ' + (i + 1) + ')');
  return cells;
});`;
const table = (...rows: string[]) => ({ files: { 'table.csv': rows.join('\n') } });

engineConformance(
  'decision-table',
  {
    echo: table('*,input'),
    broken: [
      { ...table('a,b', 'c'), at: /^a row has a condition and a result \(table\.csv line 2\)$/ },
      { files: { 'table.json': '[\n["a" 1]]' }, at: /^not valid JSON: .* \(table\.json line 2, column 6\)$/ },
    ],
    endless: { ...table('*,endless'), timeout: LIMIT_MS },
    endlessActivation: { ...table('endless'), timeout: LIMIT_MS },
    failing: { ...table('a,b'), says: /^Code execution error: Error: no row is for null$/ },
  },
  () => {
    const javascript = new TestJavascript({ maxResult: MAX_RESULT_BYTES });
    const engines = new Map([['javascript', javascript.engine]]);
    return Promise.resolve({
      engine: new ProgramEngine({ name: 'decision-table', engines, program: { 'main.js': MAIN, 'rows.js': ROWS } }),
      maxResultBytes: MAX_RESULT_BYTES,
      [Symbol.asyncDispose]: () => javascript[Symbol.asyncDispose](),
    });
  },
);
