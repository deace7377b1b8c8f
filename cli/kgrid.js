#!/usr/bin/env node
/**
 * Starts the author's commands on the Node that npm installed with the project, whatever Node started this file:
 * the commands are TypeScript, which Node runs as it is from version 24 on. Plain JavaScript, so that any Node can.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { keepCompiledCode } from '../src/compile-cache.js';

const LEAST_NODE = 24;
const CANNOT_RUN = 3;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

if (Number(process.versions.node.split('.')[0]) >= LEAST_NODE) {
  keepCompiledCode();
  endWithParent();
  await import('./main.ts');
} else {
  const node = installedNode();
  if (node === undefined) {
    process.stderr.write(
      `kgrid needs Node ${LEAST_NODE}, this is ${process.version}: run npm ci, or npm install without --omit=optional, which installs it\n`,
    );
    process.exit(CANNOT_RUN);
  }
  handOver(node);
}

/** The Node of the package that holds its program for this machine; undefined where there is none. */
function installedNode() {
  const program = process.platform === 'win32' ? 'node.exe' : 'node';
  try {
    const packageFile = createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/package.json`);
    const node = join(dirname(packageFile), 'bin', program);
    return existsSync(node) ? node : undefined;
  } catch {
    return undefined;
  }
}

/** Ends these commands when the process that started them was killed and its channel closes. */
function endWithParent() {
  if (process.channel === undefined) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

/** Runs the commands there, and ends as they end. */
function handOver(node) {
  const launcher = fileURLToPath(import.meta.url);
  const child = spawn(node, [launcher, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: process.env,
  });
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  child.once('error', (error) => {
    process.stderr.write(`kgrid cannot start ${node}: ${error.message}\n`);
    process.exit(CANNOT_RUN);
  });
  child.once('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    for (const each of SIGNALS) process.removeAllListeners(each);
    process.kill(process.pid, signal);
    // Where the signal does not end this process, its number does, as shells do.
    process.exitCode = 128 + (constants.signals[signal] ?? 0);
  });
}
