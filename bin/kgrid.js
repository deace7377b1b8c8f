#!/usr/bin/env node
// The package holds the program without its types, in `dist`.
import { existsSync } from 'node:fs';

const source = new URL('../cli/kgrid.js', import.meta.url);
await import(existsSync(source) ? source.href : new URL('../dist/cli/kgrid.js', import.meta.url).href);
