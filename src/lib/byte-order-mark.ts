/** Some programs begin what they write with a byte order mark, which a reader "MAY ignore" (RFC 8259). */
export const withoutMark = (text: string): string => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
