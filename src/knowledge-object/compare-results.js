// Compares a result with what an example expects of it: for `kgrid test` and for browsers.

/** "Of an object the keys given, of a list every element", numbers within the tolerance. */
export function differences(expected, got, tolerance, path = '') {
  const differs = [{ path, expected: shown(expected), got: shown(got) }];
  if (typeof expected === 'number' && typeof got === 'number') {
    // A result such as 0.1 + 0.2 is not 0.3: only `tolerance` says how far off is right.
    return Math.abs(got - expected) <= tolerance ? [] : differs;
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(got)) return differs;
    const longer = Math.max(expected.length, got.length);
    return Array.from({ length: longer }, (_, i) => i).flatMap((i) =>
      i < expected.length && i < got.length
        ? differences(expected[i], got[i], tolerance, `${path}[${i}]`)
        : [{ path: `${path}[${i}]`, expected: element(expected, i), got: element(got, i) }],
    );
  }
  if (isObject(expected)) {
    if (!isObject(got)) return differs;
    return Object.entries(expected).flatMap(([key, value]) => {
      const below = /^[A-Za-z_$][\w$]*$/.test(key) ? `${path === '' ? '' : `${path}.`}${key}` : `${path}["${key}"]`;
      if (!Object.hasOwn(got, key)) return [{ path: below, expected: shown(value), got: NOTHING }];
      return differences(value, got[key], tolerance, below);
    });
  }
  return expected === got ? [] : differs;
}

const NOTHING = 'nothing';
const MAX_CHARACTERS = 400;

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

const element = (list, i) => (i < list.length ? shown(list[i]) : NOTHING);

function shown(value) {
  const text = JSON.stringify(value) ?? NOTHING;
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}
