import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { linksOf } from './support/markdown.ts';
import { PROJECT, markdownFiles, read } from './support/project.ts';

const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
const LARGEST_PICTURE = 200_000;

test('every npm script that a document names is there', () => {
  const unknown = markdownFiles().flatMap((file) =>
    [...read(file).matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g)]
      .map(([, run, short]) => run ?? short ?? '')
      .filter((name) => scripts[name] === undefined)
      .map((name) => `${file}: npm run ${name}`),
  );
  assert.deepEqual(unknown, []);
});

test('CONTRIBUTING.md names every npm script', () => {
  const text = read('CONTRIBUTING.md');
  const missing = Object.keys(scripts).filter((name) => !new RegExp(`npm (run )?${name}\\b`).test(text));
  assert.deepEqual(missing, ['types']);
});

test('npm start, the container and the system service start the service by the same program', () => {
  const { start = '' } = scripts;
  const [, ofContainer = ''] = /^ENTRYPOINT \["tini", "--", "([^"]+)"\]$/m.exec(read('Dockerfile')) ?? [];
  const [, ofSystem = ''] =
    /^ExecStart=\/opt\/kgrid-activator\/(\S+)/m.exec(read('deploy/systemd/kgrid-activator.service')) ?? [];
  assert.deepEqual([start, ofContainer, ofSystem], ['exec src/start.sh', 'src/start.sh', 'src/start.sh']);
  // Its flags for memory are in no other place.
  assert.match(
    read('src/start.sh'),
    /^export MALLOC_MMAP_THRESHOLD_=\d+$[^]+^exec .* --max-semi-space-size=16 .*start\.js/m,
  );
});

test('pictures are small', () => {
  const pictures = markdownFiles()
    .flatMap((file) => linksOf(read(file)).map((target) => join(PROJECT, file, '..', target)))
    .filter((path) => path.endsWith('.png'));
  assert.ok(pictures.length >= 2);
  for (const path of pictures) assert.ok(statSync(path).size < LARGEST_PICTURE, path);
});
