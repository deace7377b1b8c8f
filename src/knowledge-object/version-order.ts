/**
 * Natural order of versions: runs of digits count as numbers, so that `v10.0` comes after `v2.0` and `1.10`
 * after `1.9`. A `v` before the first digit does not count. Versions that differ only in spelling
 * (`1.0`, `v1.0`, `01.0`) are ordered by their text, which makes the order total.
 */
export function compareVersions(a: string, b: string): number {
  const left = runs(a);
  const right = runs(b);
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const order = compareRuns(left[i] ?? '', right[i] ?? '');
    if (order !== 0) return order;
  }
  return compareText(a, b);
}

const runs = (version: string): string[] => version.replace(/^[vV](?=\d)/, '').match(/\d+|\D+/g) ?? [];

function compareRuns(a: string, b: string): number {
  if (!isDigits(a) || !isDigits(b)) return compareText(a, b);
  const left = BigInt(a);
  const right = BigInt(b);
  return left < right ? -1 : left > right ? 1 : 0;
}

const isDigits = (run: string): boolean => run !== '' && run.charCodeAt(0) >= 48 && run.charCodeAt(0) <= 57;
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
