/** An install script: tries what stands in attempts.json, and goes on with the next where an attempt ends its process. */
const { spawnSync } = require('node:child_process');
const { readFileSync, writeFileSync } = require('node:fs');

const left = JSON.parse(readFileSync('attempts.json', 'utf8'));
let lines = '';
while (Object.keys(left).length > 0) {
  const { stdout, stderr } = spawnSync(process.execPath, ['bare.mjs', './koffi.node'], { input: JSON.stringify(left) });
  if (stdout.length === 0) throw new Error(`it cannot begin: ${stderr}`);
  lines += stdout;
  for (const line of String(stdout).trim().split('\n')) delete left[JSON.parse(line)[0]];
}
writeFileSync('results.txt', lines);
