// What views are written with: markup as template texts, which hold values, never markup made of them.
import { h } from 'preact';
import htm from 'htm';

export { render } from 'preact';
export { useEffect, useId, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
export const html = htm.bind(h);
