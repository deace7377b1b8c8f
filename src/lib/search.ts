/** How knowledge objects and endpoints are found by words. */

/** Characters by which one is found. */
const MAX_CHARACTERS = 4000;

/** What one is found by: its path, title, keywords, engine and the like; what is no text counts as none. */
export const searchTextOf = (parts: readonly unknown[]): string =>
  parts
    .flat()
    .filter((part) => typeof part === 'string' || typeof part === 'number')
    .join(' ')
    .slice(0, MAX_CHARACTERS)
    .toLowerCase();

/** Whether it is found by what somebody typed. */
export const isFoundBy = (text: string, typed: string): boolean => text.includes(typed.trim().toLowerCase());
