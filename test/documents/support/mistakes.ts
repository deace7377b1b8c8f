/** The common mistakes of docs/authoring.md, each as a change of the first knowledge object that it shows. */
import type { Content } from '../../acceptance/support/ko.ts';

export type Files = Readonly<Record<string, Content>>;

export interface Mistake {
  /** As in the table. */
  readonly words: string;
  readonly make: (files: Files) => Files;
}

/** Replaces a text of a file; the file must have it. */
const edit =
  (path: string, from: string, to: string) =>
  (files: Files): Files => {
    const text = String(files[path]);
    if (!text.includes(from)) throw new Error(`${path} has no '${from}'`);
    return { ...files, [path]: text.replace(from, to) };
  };
const code =
  (source: string) =>
  (files: Files): Files => ({ ...files, 'src/welcome.js': source });
const without =
  (path: string) =>
  (files: Files): Files =>
    Object.fromEntries(Object.entries(files).filter(([name]) => name !== path));
const below =
  (folder: string) =>
  (files: Files): Files =>
    Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]));

export const AT_IMPORT: readonly Mistake[] = [
  { words: 'The zip has no `metadata.json`', make: without('metadata.json') },
  { words: 'The zip has the KO two folders deep', make: below('kos/welcome') },
  { words: 'A dash in `@id`', make: edit('metadata.json', 'hello/welcome/v1.0', 'hello/my-welcome/v1.0') },
  { words: 'An artifact that is not in the zip', make: without('src/welcome.js') },
  {
    words: 'A colon in a value without quotes',
    make: edit('service.yaml', 'title: Welcome', 'title: Welcome: a greeting'),
  },
];

export const AT_ACTIVATION: readonly Mistake[] = [
  {
    words: 'The version was raised in `@id` alone',
    make: edit('metadata.json', '"@id": "hello/welcome/v1.0"', '"@id": "hello/welcome/v1.1"'),
  },
  { words: '`servers` was copied from another KO', make: edit('service.yaml', '/hello/welcome', '/hello/world') },
  { words: 'The paths differ', make: edit('deployment.yaml', '/welcome:', '/welcom:') },
  {
    words: '`get` for code',
    make: (files) => edit('service.yaml', '    post:', '    get:')(edit('deployment.yaml', 'post:', 'get:')(files)),
  },
  { words: 'An unknown engine', make: edit('deployment.yaml', 'engine: javascript', 'engine: javscript') },
  { words: 'Another function name', make: edit('deployment.yaml', 'function: welcome', 'function: welcom') },
  { words: 'A syntax error', make: code('function welcome(input) {\n  return ("Welcome, " + input.name;\n}') },
  { words: 'The top level does not end', make: code('while (true);') },
  {
    words: 'A package in the engine javascript',
    make: code("import axios from 'axios';\nexport function welcome() {}"),
  },
  { words: '`require` of a package', make: code("const fs = require('fs');\nfunction welcome() {}") },
];

export const AT_CALL: readonly (Mistake & {
  readonly body?: string;
  readonly type?: string;
  readonly path?: string;
})[] = [
  {
    words: "`curl -d` without `-H 'Content-Type: application/json'`",
    make: (files) => files,
    type: 'application/x-www-form-urlencoded',
  },
  { words: 'A body that is not JSON', make: (files) => files, body: "{'name': 'Ada'}" },
  { words: 'Another version in the address', make: (files) => files, path: '/hello/welcome/v2.0/welcome' },
  {
    words: '`fetch`, `process`, `window` and the like',
    make: code('const welcome = () => process.exit();'),
  },
  { words: 'An endless loop', make: code('const welcome = () => { for (;;); };') },
  { words: 'A promise that nobody settles', make: code('const welcome = () => new Promise(() => {});') },
  { words: 'A result with a cycle', make: code('const welcome = (input) => { input.self = input; return input; };') },
  { words: 'NaN or Infinity in a result', make: code('const welcome = () => ({ score: 0 / 0 });') },
];
