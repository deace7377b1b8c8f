// Checks inputs by the schemas of authors, off the page, which must not wait for a schema that takes long.

const library = import(new URL('../../lib/json-schema/validate.js', import.meta.url).href);

/** These tell of a part that is wrong, which is told for itself. */
const OF_PARTS = new Set(['properties', 'patternProperties', 'items', 'prefixItems', 'allOf', '$ref', 'if']);
const MOST = 50;

self.onmessage = async ({ data: { schema, value } }) => {
  const { validate } = await library;
  const { errors } = validate(value, schema, '2020-12', undefined, false);
  const told = errors.filter(
    ({ keyword, keywordLocation }) => !OF_PARTS.has(keyword) && !/\/(?:oneOf|anyOf|not)\/\d+/.test(keywordLocation),
  );
  self.postMessage(told.slice(0, MOST).map(({ instanceLocation, error }) => ({ at: instanceLocation, error })));
};
