// The same call for programs. Whatever the input holds, it stays a text between quotes.

/** Signs that steer a terminal, or the direction of writing, stand as their numbers. */
const STEERING = /[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/;
/** Where a login is in the tab; it is never copied itself. */
const VARIABLE = 'KGRID_AUTHORIZATION';

const hex = (number, digits) => number.toString(16).padStart(digits, '0');

/** Of JSON and JavaScript, and of Python but for what is beyond 16 bits, which is not escaped. */
const quoted = (text) =>
  JSON.stringify(text).replace(
    /[\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (sign) => '\\u' + hex(sign.charCodeAt(0), 4),
  );

/** In R no sign but those of ASCII stands for itself, whatever the locale. */
const inR = (text) =>
  '"' +
  [...text.toWellFormed()]
    .map((sign) => {
      const code = sign.codePointAt(0);
      if (sign === '"' || sign === '\\') return '\\' + sign;
      if (sign === '\n') return '\\n';
      return code < 0x20 || code > 0x7e ? '\\U{' + hex(code, 4) + '}' : sign;
    })
    .join('') +
  '"';

const inShell = (text) => "'" + text.replaceAll("'", "'\\''") + "'";

/** For `printf %b`: bytes that steer as their numbers. */
const inOctal = (text) =>
  inShell(
    [...text.toWellFormed()]
      .map((sign) => {
        if (sign === '\\') return '\\\\';
        if (sign !== '\n' && !STEERING.test(sign)) return sign;
        if (sign === '\n') return '\\n';
        return [...new TextEncoder().encode(sign)].map((byte) => '\\0' + byte.toString(8).padStart(3, '0')).join('');
      })
      .join(''),
  );

/**
 * @typedef {{url: string, method: string, contentType: string, body?: string, hasLogin: boolean}} Call
 * @type {Record<string, {title: string, codeOf: (call: Call) => string}>}
 */
export const LANGUAGES = {
  curl: {
    title: 'curl',
    codeOf: ({ url, method, contentType, body, hasLogin }) => {
      const isPlain = body === undefined || ![...body].some((sign) => sign !== '\n' && STEERING.test(sign));
      const lines = [
        `curl -sS -X ${method} ${inShell(url)}`,
        `-H 'Accept: application/json'`,
        ...(hasLogin ? [`-H "Authorization: $${VARIABLE}"`] : []),
        ...(body === undefined ? [] : [`-H ${inShell('Content-Type: ' + contentType)}`]),
        // As it is, also where it begins with the @ of a file.
        ...(body === undefined ? [] : [isPlain ? `--data-raw ${inShell(body)}` : '--data-binary @-']),
      ];
      return (isPlain ? '' : `printf %b ${inOctal(body)} |\n`) + lines.join(' \\\n  ');
    },
  },
  python: {
    title: 'Python',
    codeOf: ({ url, method, contentType, body, hasLogin }) =>
      [
        ...(hasLogin ? ['import os', ''] : []),
        'import requests',
        '',
        `response = requests.request(`,
        `    ${quoted(method)},`,
        `    ${quoted(url)},`,
        `    headers={"Accept": "application/json"${body === undefined ? '' : `, "Content-Type": ${quoted(contentType)}`}${hasLogin ? `, "Authorization": os.environ["${VARIABLE}"]` : ''}},`,
        ...(body === undefined ? [] : [`    data=${quoted(body.toWellFormed())}.encode(),`]),
        `    timeout=60,`,
        ')',
        'response.raise_for_status()',
        'print(response.json()["result"])',
      ].join('\n'),
  },
  r: {
    title: 'R',
    codeOf: ({ url, method, contentType, body, hasLogin }) =>
      [
        'library(httr2)',
        '',
        `response <- request(${inR(url)}) |>`,
        `  req_method(${inR(method)}) |>`,
        `  req_headers(Accept = "application/json"${hasLogin ? `, Authorization = Sys.getenv("${VARIABLE}")` : ''}) |>`,
        ...(body === undefined ? [] : [`  req_body_raw(${inR(body)}, type = ${inR(contentType)}) |>`]),
        '  req_perform()',
        'resp_body_json(response)$result',
      ].join('\n'),
  },
  javascript: {
    title: 'JavaScript',
    codeOf: ({ url, method, contentType, body, hasLogin }) =>
      [
        `const response = await fetch(${quoted(url)}, {`,
        `  method: ${quoted(method)},`,
        `  headers: { Accept: "application/json"${body === undefined ? '' : `, "Content-Type": ${quoted(contentType)}`}${hasLogin ? `, Authorization: process.env.${VARIABLE}` : ''} },`,
        ...(body === undefined ? [] : [`  body: ${quoted(body.toWellFormed())},`]),
        '});',
        'if (!response.ok) throw new Error(await response.text());',
        'console.log((await response.json()).result);',
      ].join('\n'),
  },
};

/** NUL is in no text of R, and in no argument. */
export const cannotHold = (language, body) => language === 'r' && body?.includes('\0') === true;
