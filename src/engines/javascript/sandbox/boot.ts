/** What runs in each context before the code of a knowledge object. */
import { readFileSync } from 'node:fs';
import type ivm from 'isolated-vm';

const textOf = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8');
const makers = ['./odd-numbers.js', './timers.js', './platform.js'].map(textOf).join('');
const boot = `(function () { ${makers} return (${textOf('./guest.js').replace(/;\s*$/, '')}\n); })()`;
const filename = 'kgrid:activator';
let compiled: ivm.ExternalCopy<ArrayBuffer> | undefined;

/** The first isolate compiles it for all others, which saves each half a millisecond. */
export function compileBoot(isolate: ivm.Isolate): ivm.Script {
  if (compiled !== undefined) return isolate.compileScriptSync(boot, { filename, cachedData: compiled });
  const script = isolate.compileScriptSync(boot, { filename, produceCachedData: true });
  compiled = (script as ivm.Script & ivm.CachedDataResult).cachedData;
  return script;
}
