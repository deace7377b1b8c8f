/**
 * What `npm pack` puts into the package. Node runs no TypeScript below `node_modules`, so `prepack` writes the program
 * without its types to `dist`, and `postpack` takes that away again. Plain JavaScript: a Node that is too old can say so.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import * as module from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(PROJECT, 'dist');
const SHRINKWRAP = join(PROJECT, 'npm-shrinkwrap.json');
const PROGRAMS = ['src', 'cli', 'runtimes'];
const DATA = ['openapi', 'templates', 'examples'];
/** Tests, their support, and what tools leave. */
const LEFT_OUT = /^\.|^(?:support|tests?|bench|__pycache__|build|node_modules)$|\.test\.ts$|\.egg-info$/;
/** Specifiers of imports, and of what is started or resolved beside a module. */
const SPECIFIER = /(\bfrom\s*|\bimport\s*\(?\s*|\bnew URL\(\s*|\bimport\.meta\.resolve\(\s*)'([^'\n]*)\.ts'/g;

function build() {
  if (typeof module.stripTypeScriptTypes !== 'function')
    throw new Error(`Node ${process.version} cannot take types out: run npm ci first, which installs one that can`);
  clean();
  for (const folder of PROGRAMS) for (const path of filesOf(folder)) writeProgram(path);
  for (const folder of DATA) cpSync(join(PROJECT, folder), join(DIST, folder), { recursive: true });
  const { name, version, type } = readJson('package.json');
  const gitHead = commit();
  writeFileSync(join(DIST, 'package.json'), `${JSON.stringify({ name, version, type, gitHead }, undefined, 2)}\n`);
  writeFileSync(SHRINKWRAP, `${JSON.stringify(withoutDevelopment(readJson('package-lock.json')), undefined, 2)}\n`);
}

function clean() {
  rmSync(DIST, { recursive: true, force: true });
  rmSync(SHRINKWRAP, { force: true });
}

function filesOf(folder) {
  return readdirSync(join(PROJECT, folder), { withFileTypes: true })
    .filter(({ name }) => !LEFT_OUT.test(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return filesOf(path);
      return entry.isFile() ? [path] : [];
    });
}

/**
 * Types become white space, so that lines and columns in what the program reports are those of its source. The ending
 * tells what was TypeScript: `a.ts` may lie beside `a.js`.
 */
function writeProgram(path) {
  const target = join(DIST, path.replace(/\.ts$/, '.mjs'));
  mkdirSync(dirname(target), { recursive: true });
  if (!/\.[jt]s$/.test(path)) return cpSync(join(PROJECT, path), target);
  const source = readFileSync(join(PROJECT, path), 'utf8');
  const code = path.endsWith('.ts') ? module.stripTypeScriptTypes(source) : source;
  writeFileSync(
    target,
    code.replace(SPECIFIER, (_, before, name) => `${before}'${requireSource(path, name)}.mjs'`),
  );
}

function requireSource(path, name) {
  if (existsSync(resolve(PROJECT, dirname(path), `${name}.ts`))) return name;
  throw new Error(`${relative('.', join(PROJECT, path))} names ${basename(name)}.ts, which is not there`);
}

function withoutDevelopment(lock) {
  const packages = Object.entries(lock.packages).filter(([, { dev }]) => dev !== true);
  const [[, { devDependencies: _, ...root }], ...others] = packages;
  return { ...lock, packages: { '': root, ...Object.fromEntries(others) } };
}

const readJson = (name) => JSON.parse(readFileSync(join(PROJECT, name), 'utf8'));

function commit() {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: PROJECT, encoding: 'utf8' }).trim();
  } catch {
    // No checkout: the program says `unknown` then.
    return undefined;
  }
}

// Node says that this function of it may change.
process.removeAllListeners('warning');
try {
  ({ build, clean })[process.argv[2]]();
} catch (error) {
  clean();
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
