/** Addresses may hold a user and a password, which are for nobody to see. */

/** The text with each address in it as it is without them. Takes time that grows with its length alone. */
export function withoutCredentials(text: string): string {
  const url = text.includes('@') ? URL.parse(text) : null;
  if (url !== null && (url.username !== '' || url.password !== '')) {
    url.username = url.password = '';
    return url.href;
  }
  let clean = '';
  let from = 0;
  for (let at = text.indexOf(SCHEME_END); at >= 0; at = text.indexOf(SCHEME_END, from)) {
    const start = at + SCHEME_END.length;
    clean += text.slice(from, start);
    from = start;
    AUTHORITY_END.lastIndex = start;
    const end = AUTHORITY_END.exec(text)?.index ?? text.length;
    from += text.slice(start, end).lastIndexOf('@') + 1;
  }
  return clean + text.slice(from);
}

const SCHEME_END = '://';
const AUTHORITY_END = /[/?#\\\s"'<>]/g;

/** A copy of what was parsed from JSON, in which no text holds credentials of an address. */
export function withoutCredentialsIn<T>(value: T): T {
  const text = JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'string' ? withoutCredentials(each) : each,
  );
  return JSON.parse(text) as T;
}
