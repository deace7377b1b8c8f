/** Starts the runtime with the engine `node`, as ever; `kgrid runtime --engine node` does the same. */
process.argv.push('--engine', 'node');
await import('../server/main.ts');
