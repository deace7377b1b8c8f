/**
 * Debian's chromium for the tests of the pages. Where it is missing, the package `chromium` is installed with apt-get
 * (with sudo, unless by root), and said; as a program: `node test/pages/support/chromium.ts`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';
const isRoot = process.getuid?.() === 0;

/** @throws when the package cannot be installed. */
export function installChromium(): string {
  if (existsSync(CHROMIUM)) return CHROMIUM;
  process.stderr.write("The tests of the pages need a browser: installing Debian's package chromium with apt-get\n");
  const asRoot = (command: string, ...args: string[]): void => {
    const [program, ...all] = isRoot ? [command, ...args] : ['sudo', '-n', command, ...args];
    execFileSync(program ?? command, all, { stdio: ['ignore', 'inherit', 'inherit'] });
  };
  try {
    asRoot('apt-get', 'update', '-qq');
    asRoot('apt-get', 'install', '-y', '-qq', '--no-install-recommends', 'chromium');
  } catch (cause) {
    throw new Error(`${CHROMIUM} is missing: install it with "apt-get install chromium"`, { cause });
  }
  return CHROMIUM;
}

/** A headless browser that asks nothing of its own on the network. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: installChromium(),
    args: [
      ...(isRoot ? ['--no-sandbox'] : []),
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-dev-shm-usage',
      // A process for each tab would compile the scripts of a page again.
      '--renderer-process-limit=1',
      // No page is there for as long as machine code that is optimized takes to be worth its making.
      '--js-flags=--no-turbofan --no-maglev',
    ],
  });

if (import.meta.main) installChromium();
