/**
 * The audit as a chain of hashes for each writer ([audit-chain.ts](../../audit-chain.ts)). Who writes holds the row of
 * the writer until the end of the transaction, so that numbers have no gaps whoever else writes.
 */
export const auditChain = (schema: string): string => `
ALTER TABLE ${schema}.audit ADD COLUMN writer text, ADD COLUMN number bigint;
CREATE UNIQUE INDEX audit_chain ON ${schema}.audit (writer, number);
CREATE TABLE ${schema}.audit_writer (
  writer text PRIMARY KEY,
  number bigint NOT NULL DEFAULT 0,
  hash text NOT NULL DEFAULT '',
  trimmed bigint NOT NULL DEFAULT 0,
  trimmed_hash text NOT NULL DEFAULT '',
  at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE ${schema}.audit_start (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  id bigint NOT NULL
);
INSERT INTO ${schema}.audit_start (id) SELECT coalesce(max(id), 0) + 1 FROM ${schema}.audit;

CREATE FUNCTION ${schema}.append_audit(of_writer text, of_who text, facts text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  of_number bigint;
  before text;
  now timestamptz := date_trunc('milliseconds', clock_timestamp());
  body text;
  own text;
BEGIN
  INSERT INTO ${schema}.audit_writer (writer) VALUES (of_writer) ON CONFLICT DO NOTHING;
  UPDATE ${schema}.audit_writer SET number = number + 1 WHERE writer = of_writer RETURNING number, hash INTO of_number, before;
  body := '{"time":"' || to_char(now AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '",'
    || substr(facts, 2, length(facts) - 2) || ',"writer":"' || of_writer || '","number":' || of_number
    || ',"previous":"' || before || '"';
  own := encode(sha256(convert_to(body || '}', 'UTF8')), 'hex');
  INSERT INTO ${schema}.audit (time, who, record, writer, number)
    VALUES (now, of_who, body || ',"hash":"' || own || '"}', of_writer, of_number);
  UPDATE ${schema}.audit_writer SET hash = own, at = now WHERE writer = of_writer;
END $$;
`;
