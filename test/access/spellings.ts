/** Every way to write a path that could make a guard and a router read two different things. */

/** Request targets as they stand in the request line. `path` starts with `/`. */
export function spellingsOf(path: string): string[] {
  const segments = path.slice(1).split('/');
  const spellings = [
    path,
    ...lettersOf(path).flatMap((at) => [
      replaceAt(path, at, hexOf(path, at)),
      replaceAt(path, at, hexOf(path, at).toLowerCase()),
      replaceAt(path, at, `%25${hexOf(path, at).slice(1)}`),
      replaceAt(path, at, swapCase(path.charAt(at))),
    ]),
    path.toUpperCase(),
    encodeAll(path),
    encodeAll(path).toLowerCase(),
    ...segments.flatMap((segment, i) => {
      const withSegment = (...other: string[]): string => `/${segments.toSpliced(i, 1, ...other).join('/')}`;
      return [
        withSegment('', segment),
        withSegment('.', segment),
        withSegment('%2e', segment),
        withSegment('..', segment),
        withSegment('x', '..', segment),
        withSegment('x', '%2e%2e', segment),
        withSegment(encodeAll(segment)),
        withSegment(`${segment};x`),
        withSegment(`${segment};x=1`),
        withSegment(`${segment}%3Bx`),
        withSegment(`${segment}.`),
        withSegment(`${segment}%20`),
        withSegment(`${segment}%00`),
        withSegment(`${segment}%09`),
        withSegment(`%20${segment}`),
        withSegment(`${segment}.json`),
        withSegment(fullWidth(segment)),
      ];
    }),
    ...[
      '/',
      '//',
      '/.',
      '/..',
      '/x/..',
      '/%2e',
      '%2F',
      '%5C',
      '\\',
      '?',
      '?x=1',
      '#f',
      '#',
      '%23f',
      '%3Fx',
      ';',
      '&x',
    ].map((end) => path + end),
    ...[
      '/',
      '/.',
      '/x/..',
      '/x/%2e%2e',
      '/x%2f..',
      '/%2e',
      '/..',
      '\\',
      '/;',
      '/;/',
      '?/',
      '#',
      '.',
      '%2F',
      '/%2F',
      '/\\',
    ].map((start) => start + path),
    path.replaceAll('/', '//'),
    path.replaceAll('/', '\\'),
    path.replaceAll('/', '%2F'),
    path.replaceAll('/', '%5C'),
    `/${path.slice(1).replaceAll('/', '%2f')}`,
    path.slice(1),
    ...[
      'http://evil.example',
      'https://evil.example',
      'HTTP://evil.example:80',
      'http://user:pass@evil.example',
      'http://',
      '//evil.example',
      'x:',
    ].map((origin) => origin + path),
  ];
  return [...new Set(spellings)];
}

const lettersOf = (path: string): number[] => [...path].flatMap((letter, at) => (/[a-z]/i.test(letter) ? [at] : []));
const hexOf = (text: string, at: number): string => `%${text.charCodeAt(at).toString(16).toUpperCase()}`;
const replaceAt = (text: string, at: number, by: string): string => text.slice(0, at) + by + text.slice(at + 1);
const swapCase = (letter: string): string =>
  letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase();
const encodeAll = (text: string): string => text.replace(/[^/]/g, (_letter, at: number) => hexOf(text, at));
/** Look-alikes that become ASCII where a program normalises them, as UTF-8 in percent form. */
const fullWidth = (text: string): string =>
  [...text].map((letter) => encodeURIComponent(String.fromCharCode(letter.charCodeAt(0) + 0xfee0))).join('');

/** Headers by which proxies and frameworks let a request be read as another one. */
export const OVERRIDES: readonly Readonly<Record<string, string>>[] = ['POST', 'PUT', 'DELETE', 'GET'].flatMap(
  (method) => [{ 'X-HTTP-Method-Override': method }, { 'X-HTTP-Method': method }, { 'X-Method-Override': method }],
);

/** The same for the path. */
export const pathOverrides = (path: string): Readonly<Record<string, string>>[] =>
  ['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Prefix', 'X-Forwarded-Path', 'X-Forwarded-Uri'].map((name) => ({
    [name]: path,
  }));
