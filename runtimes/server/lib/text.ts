/** Work on text from outside, in time that grows no faster than the text: expressions such as `/\/+$/` take its square. */

const SLASH = 47;

/** Without the slashes at both ends. */
export function withoutSlashes(text: string): string {
  const whole = withoutEndSlashes(text);
  let start = 0;
  while (whole.charCodeAt(start) === SLASH) start++;
  return whole.slice(start);
}

export function withoutEndSlashes(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === SLASH) end--;
  return text.slice(0, end);
}
