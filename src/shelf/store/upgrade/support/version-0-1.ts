/** The tables that version 0.1 made in PostgreSQL. */
export const tablesOfVersion01 = (schema: string): string => `
CREATE SCHEMA ${schema};
CREATE TABLE ${schema}.schema_version (
  version int PRIMARY KEY, program text NOT NULL, at timestamptz NOT NULL DEFAULT now());
INSERT INTO ${schema}.schema_version (version, program) SELECT v, 'kgrid-activator' FROM generate_series(1, 4) AS v;
CREATE TABLE ${schema}.state (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  revision bigint NOT NULL DEFAULT 0,
  mark uuid NOT NULL DEFAULT gen_random_uuid(),
  generation bigint NOT NULL DEFAULT 0,
  changes_from bigint NOT NULL DEFAULT 0,
  started boolean NOT NULL DEFAULT false,
  default_naan text,
  call_key bytea
);
INSERT INTO ${schema}.state DEFAULT VALUES;

CREATE TABLE ${schema}.change (
  id uuid PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE ${schema}.blob (
  digest bytea PRIMARY KEY,
  size bigint NOT NULL,
  unused timestamptz
);
CREATE INDEX blob_unused ON ${schema}.blob (unused) WHERE unused IS NOT NULL;
CREATE TABLE ${schema}.blob_chunk (
  digest bytea NOT NULL REFERENCES ${schema}.blob ON DELETE CASCADE,
  number int NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (digest, number)
);
CREATE TABLE ${schema}.package (
  digest text PRIMARY KEY,
  artifacts text NOT NULL,
  size bigint NOT NULL,
  created timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE ${schema}.package_file (
  package text NOT NULL REFERENCES ${schema}.package ON DELETE CASCADE,
  path text COLLATE "C" NOT NULL,
  blob bytea NOT NULL REFERENCES ${schema}.blob,
  size bigint NOT NULL,
  PRIMARY KEY (package, path)
);
CREATE INDEX package_file_blob ON ${schema}.package_file (blob);

CREATE TABLE ${schema}.ko (
  naan text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  digest text REFERENCES ${schema}.package,
  metadata text,
  at_id text,
  etag text,
  revision bigint NOT NULL,
  removed boolean NOT NULL DEFAULT false,
  PRIMARY KEY (naan, name, version)
);
CREATE INDEX ko_revision ON ${schema}.ko (revision);
CREATE INDEX ko_digest ON ${schema}.ko (digest);
CREATE TABLE ${schema}.kept (
  naan text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  digest text NOT NULL REFERENCES ${schema}.package,
  removed timestamptz NOT NULL,
  why text NOT NULL CHECK (why IN ('deleted', 'replaced')),
  PRIMARY KEY (naan, name, version, digest)
);
CREATE INDEX kept_digest ON ${schema}.kept (digest);

CREATE TABLE ${schema}.activation (
  generation bigint PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('reload', 'refresh')),
  selection jsonb NOT NULL,
  who text,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE ${schema}.active (
  naan text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  digest text NOT NULL REFERENCES ${schema}.package,
  generation bigint NOT NULL,
  PRIMARY KEY (naan, name, version)
);
CREATE INDEX active_generation ON ${schema}.active (generation);
CREATE INDEX active_digest ON ${schema}.active (digest);

CREATE TABLE ${schema}.node (
  id uuid PRIMARY KEY,
  name text NOT NULL DEFAULT '',
  address text NOT NULL DEFAULT '',
  version text NOT NULL DEFAULT '',
  settings jsonb NOT NULL DEFAULT '{}',
  revision bigint NOT NULL DEFAULT 0,
  generation bigint NOT NULL DEFAULT 0,
  failures jsonb NOT NULL DEFAULT '[]',
  joined timestamptz NOT NULL DEFAULT now(),
  heartbeat timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE ${schema}.runtime (
  id text PRIMARY KEY,
  engine text NOT NULL,
  url text NOT NULL,
  facts jsonb NOT NULL DEFAULT '{}',
  epoch bigint NOT NULL DEFAULT 0,
  registered timestamptz NOT NULL DEFAULT now(),
  heard timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE ${schema}.runtime_endpoint (
  runtime text NOT NULL REFERENCES ${schema}.runtime ON DELETE CASCADE,
  endpoint text NOT NULL,
  checksum text NOT NULL,
  state text NOT NULL,
  uri text,
  holder uuid,
  until timestamptz,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (runtime, endpoint)
);
CREATE TABLE ${schema}.lease (
  name text PRIMARY KEY,
  holder uuid NOT NULL,
  until timestamptz NOT NULL
);

CREATE TABLE ${schema}.audit (
  id bigserial PRIMARY KEY,
  time timestamptz NOT NULL DEFAULT clock_timestamp(),
  who text NOT NULL,
  record text NOT NULL
);
CREATE INDEX audit_time ON ${schema}.audit (time);
CREATE INDEX audit_who ON ${schema}.audit (who);

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

ALTER TABLE ${schema}.active ADD COLUMN at timestamptz NOT NULL DEFAULT now();
CREATE TABLE ${schema}.engine_refresh (
  engine text PRIMARY KEY,
  at timestamptz NOT NULL
);

ALTER TABLE ${schema}.node ADD COLUMN heard_until timestamptz, ADD COLUMN heard_again timestamptz;
`;
