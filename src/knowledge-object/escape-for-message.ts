const MAX_CHARACTERS = 100;

/**
 * A text from outside as it may stand in a message: control, format and other invisible characters are escaped
 * so that they cannot change how the line reads, and what is long is cut.
 */
export function escapeForMessage(text: string): string {
  const cut = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
  return cut.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (c) => `\\u${(c.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}
