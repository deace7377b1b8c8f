// What views are written with: markup as template texts, which hold values, never markup made of them.
import { h } from 'preact';
import htm from 'htm';

export { render } from 'preact';
export { useEffect, useId, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';

const build = htm.bind(h);
const known = new WeakMap();

/** As in HTML, a break of lines between two parts is a space; at both ends it is none. */
const spaced = (texts) =>
  texts.map((text, i) => {
    const isTrimmedBefore = i === 0 && text.startsWith('\n');
    const isTrimmedAfter = i === texts.length - 1 && text.slice(text.trimEnd().length).includes('\n');
    const begun = isTrimmedBefore ? text.trimStart() : text;
    return (isTrimmedAfter ? begun.trimEnd() : begun).replace(/\s+/g, ' ');
  });

export const html = (texts, ...values) => {
  if (!known.has(texts)) known.set(texts, spaced(texts));
  return build(known.get(texts), ...values);
};

/** A text whose lines and spaces stay what they are. */
export const Pre = ({ text, label = undefined }) =>
  h('pre', label === undefined ? {} : { tabindex: 0, role: 'region', 'aria-label': label }, text);
