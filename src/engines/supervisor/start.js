/**
 * Starts a program that comes by standard input, as a list of modules of which the first is the main one, with the last
 * of its walls: what such a
 * process may read and write allows no cache of compiled code, and to strip types itself takes it half of its start.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { prepareLastWall } from '../../confinement/close-behind.js';

// A signal to the whole group, such as Ctrl-C, is for the activator, which lets calls finish and then ends the sandboxes.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);

const STANDARD_INPUT = 0;

const { modules, lastWall } = JSON.parse(readFileSync(STANDARD_INPUT, 'utf8'));
prepareLastWall(lastWall);
const sources = new Map(modules);
registerHooks({
  load: (url, context, nextLoad) =>
    sources.has(url) ? { format: 'module', source: sources.get(url), shortCircuit: true } : nextLoad(url, context),
});
await import(modules[0][0]);
