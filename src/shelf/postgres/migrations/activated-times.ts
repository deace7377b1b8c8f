/** When each KO was activated last, by a change that all nodes make, and all endpoints of an engine. */
export const activatedTimes = (schema: string): string => `
ALTER TABLE ${schema}.active ADD COLUMN at timestamptz NOT NULL DEFAULT now();
CREATE TABLE ${schema}.engine_refresh (
  engine text PRIMARY KEY,
  at timestamptz NOT NULL
);
`;
