export function searchTextOf(parts: readonly unknown[]): string;
export function isFoundBy(text: string, typed: string): boolean;
