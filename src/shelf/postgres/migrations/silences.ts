/** Of the last silence of each node: until when it was heard before it, and when it was heard again. */
export const silences = (schema: string): string => `
ALTER TABLE ${schema}.node ADD COLUMN heard_until timestamptz, ADD COLUMN heard_again timestamptz;
`;
