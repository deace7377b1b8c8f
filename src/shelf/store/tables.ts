/** The tables of a shelf, and the steps by which they come to be. */
import type { Dialect } from './database.ts';

/**
 * A change of the tables in two phases: once it is prepared, programs that do not know it still run and start; once it is
 * finished, they no longer do.
 */
export interface Step {
  /** Statements that only add: columns with a default or that may be null, tables, indexes. */
  readonly prepare: (dialect: Dialect) => readonly string[];
  /** Statements that take away what only programs before it need. */
  readonly finish?: (dialect: Dialect) => readonly string[];
}

/**
 * - `state`: one row. `revision` grows with each change of the shelf, `generation` with each change of what is meant to be
 *   active, and `marks` gets a mark (`state.ts`); `started` is 1 once somebody said what is meant to be active. Rows of
 *   KOs that were removed up to the revision `changes_from` may be gone. `doubt` says why an operator is to look at what
 *   this database has lost, until one has.
 * - `package`: by the digest of all its files. `files` is a JSON array of `[path, size, sha256]`; `stored` is when they were
 *   stored, and 0 while they lie only in a folder of a person.
 * - `ko`: what is on the shelf. `name` is `<naan>/<name>`, `id` the same with `/<version>`; `listing` is the digest of the
 *   object from which the row can be made again (`package-listing.ts`). `folder` is the path of a folder that a person put
 *   on the shelf and that is read in place, `stamp` what tells that nothing changed in it. A row whose `removed` is 1 tells
 *   who follows that the KO went.
 * - `retained`: packages that were deleted or replaced and may come back.
 * - `active`: which package of each KO is meant to be active, by which generation; `at`: when all of it was asked for last.
 *   `activation`: the changes that led there, so that each node makes the same ones. `selection` is JSON.
 *   `engine_refresh`: when all endpoints of an engine were asked for last.
 * - `node`: the activators that share the shelf, with how far each is. `settings` and `failures` are JSON.
 * - `runtime`, `runtime_endpoint`: external runtimes, and what was activated there. `facts` and `uri` are JSON.
 * - `lease`: work that one node at a time does.
 * - `fetched`: what an installation of packages fetched, by the key of that installation. `files` is a JSON array of
 *   `[name, size, sha256]`, whose contents are objects; `at`: when a node asked for it last.
 * - `tool_name`: the names of tools for assistants, and the endpoint that was first active under each, as
 *   `<naan>/<name>/<endpoint>`: it keeps the name, also once it is gone.
 * - `audit`: the records, each a JSON text with its place in the chain; `audit_head`: how far the chain is, and what
 *   went at its beginning; `audit_earlier`: the same of chains that version 0.1 wrote, one for each node.
 */
const first = ({ schema, now, types: { text, integer }, tableOptions }: Dialect): readonly string[] => [
  `CREATE TABLE ${schema}state (
    one ${integer} PRIMARY KEY CHECK (one = 1),
    revision ${integer} NOT NULL,
    generation ${integer} NOT NULL,
    marks ${text} NOT NULL,
    changes_from ${integer} NOT NULL,
    started ${integer} NOT NULL,
    call_key ${text},
    doubt ${text},
    created ${integer} NOT NULL
  )${tableOptions}`,
  `CREATE TABLE ${schema}package (
    digest ${text} PRIMARY KEY,
    files ${text} NOT NULL,
    size ${integer} NOT NULL,
    stored ${integer} NOT NULL
  )${tableOptions}`,
  `CREATE TABLE ${schema}ko (
    id ${text} PRIMARY KEY,
    name ${text} NOT NULL,
    digest ${text} REFERENCES ${schema}package,
    listing ${text},
    metadata ${text},
    at_id ${text},
    etag ${text},
    folder ${text},
    stamp ${text},
    revision ${integer} NOT NULL,
    removed ${integer} NOT NULL
  )${tableOptions}`,
  `CREATE INDEX ko_name ON ${schema}ko (name)`,
  `CREATE INDEX ko_revision ON ${schema}ko (revision)`,
  `CREATE INDEX ko_digest ON ${schema}ko (digest)`,
  `CREATE TABLE ${schema}retained (
    id ${text} NOT NULL,
    digest ${text} NOT NULL REFERENCES ${schema}package,
    listing ${text} NOT NULL,
    at ${integer} NOT NULL,
    why ${text} NOT NULL CHECK (why IN ('deleted', 'replaced')),
    PRIMARY KEY (id, digest)
  )${tableOptions}`,
  `CREATE INDEX retained_digest ON ${schema}retained (digest)`,
  `CREATE TABLE ${schema}active (
    id ${text} PRIMARY KEY,
    name ${text} NOT NULL,
    digest ${text} NOT NULL REFERENCES ${schema}package,
    generation ${integer} NOT NULL,
    at ${integer} NOT NULL
  )${tableOptions}`,
  `CREATE INDEX active_name ON ${schema}active (name)`,
  `CREATE INDEX active_digest ON ${schema}active (digest)`,
  `CREATE TABLE ${schema}activation (
    generation ${integer} PRIMARY KEY,
    kind ${text} NOT NULL CHECK (kind IN ('reload', 'refresh')),
    selection ${text} NOT NULL
  )${tableOptions}`,
  `CREATE TABLE ${schema}engine_refresh (engine ${text} PRIMARY KEY, at ${integer} NOT NULL)${tableOptions}`,
  `CREATE TABLE ${schema}node (
    id ${text} PRIMARY KEY,
    name ${text} NOT NULL,
    address ${text} NOT NULL,
    version ${text} NOT NULL,
    settings ${text} NOT NULL,
    revision ${integer} NOT NULL,
    generation ${integer} NOT NULL,
    failures ${text} NOT NULL,
    joined ${integer} NOT NULL,
    heartbeat ${integer} NOT NULL,
    heard_until ${integer},
    heard_again ${integer}
  )${tableOptions}`,
  `CREATE TABLE ${schema}runtime (
    id ${text} PRIMARY KEY,
    engine ${text} NOT NULL,
    facts ${text} NOT NULL,
    epoch ${integer} NOT NULL,
    heard ${integer} NOT NULL
  )${tableOptions}`,
  `CREATE TABLE ${schema}runtime_endpoint (
    runtime ${text} NOT NULL REFERENCES ${schema}runtime ON DELETE CASCADE,
    endpoint ${text} NOT NULL,
    generation ${integer} NOT NULL,
    checksum ${text} NOT NULL,
    state ${text} NOT NULL,
    uri ${text},
    holder ${text},
    until ${integer},
    PRIMARY KEY (runtime, endpoint)
  )${tableOptions}`,
  `CREATE TABLE ${schema}lease (
    name ${text} PRIMARY KEY,
    holder ${text} NOT NULL,
    until ${integer} NOT NULL
  )${tableOptions}`,
  `CREATE TABLE ${schema}audit (
    id ${integer} PRIMARY KEY,
    at ${integer} NOT NULL,
    who ${text} NOT NULL,
    record ${text} NOT NULL
  )${tableOptions}`,
  `CREATE INDEX audit_at ON ${schema}audit (at)`,
  `CREATE TABLE ${schema}audit_head (
    one ${integer} PRIMARY KEY CHECK (one = 1),
    writer ${text} NOT NULL,
    last_id ${integer} NOT NULL,
    number ${integer} NOT NULL,
    hash ${text} NOT NULL,
    trimmed ${integer} NOT NULL,
    trimmed_hash ${text} NOT NULL,
    bytes ${integer} NOT NULL
  )${tableOptions}`,
  `CREATE TABLE ${schema}audit_earlier (
    writer ${text} PRIMARY KEY,
    number ${integer} NOT NULL,
    hash ${text} NOT NULL,
    trimmed ${integer} NOT NULL,
    trimmed_hash ${text} NOT NULL
  )${tableOptions}`,
  `INSERT INTO ${schema}state (one, revision, generation, marks, changes_from, started, created)
    VALUES (1, 0, 0, '[]', 0, 0, ${now})`,
  `INSERT INTO ${schema}audit_head (one, writer, last_id, number, hash, trimmed, trimmed_hash, bytes)
    VALUES (1, '${crypto.randomUUID()}', 0, 0, '', 0, '', 0)`,
];

const fetched = ({ schema, types: { text, integer }, tableOptions }: Dialect): readonly string[] => [
  `CREATE TABLE ${schema}fetched (
    id ${text} PRIMARY KEY,
    note ${text} NOT NULL,
    files ${text} NOT NULL,
    at ${integer} NOT NULL
  )${tableOptions}`,
];

/** - `hook_feedback`: what clients told of cards of CDS services. `detail` is a JSON array of texts, `told` their own time. */
const hookFeedback = ({ schema, types: { text, integer }, tableOptions }: Dialect): readonly string[] => [
  `CREATE TABLE ${schema}hook_feedback (
    service ${text} NOT NULL,
    card ${text} NOT NULL,
    outcome ${text} NOT NULL,
    detail ${text} NOT NULL,
    told ${text} NOT NULL,
    at ${integer} NOT NULL,
    PRIMARY KEY (service, card)
  )${tableOptions}`,
  `CREATE INDEX hook_feedback_at ON ${schema}hook_feedback (at)`,
];

/**
 * - `app_user`, `api_key`: who may log in, with hashes of passwords and keys; `grants` is a JSON array of texts.
 *   `access_state`: one row, whose `revision` grows with each change of them.
 * - `limit_use`: what each node asked for of the limits of a principal lately.
 */
const access = ({ schema, types: { text, integer }, tableOptions }: Dialect): readonly string[] => [
  `CREATE TABLE ${schema}app_user (
    name ${text} PRIMARY KEY,
    password ${text} NOT NULL,
    grants ${text} NOT NULL,
    created ${integer} NOT NULL,
    changed ${integer} NOT NULL
  )${tableOptions}`,
  `CREATE TABLE ${schema}api_key (
    prefix ${text} PRIMARY KEY,
    note ${text} NOT NULL,
    hash ${text} NOT NULL,
    grants ${text} NOT NULL,
    created_by ${text} NOT NULL,
    created ${integer} NOT NULL,
    expires ${integer},
    revoked ${integer}
  )${tableOptions}`,
  `CREATE TABLE ${schema}access_state (
    one ${integer} PRIMARY KEY CHECK (one = 1),
    revision ${integer} NOT NULL
  )${tableOptions}`,
  `INSERT INTO ${schema}access_state (one, revision) VALUES (1, 0)`,
  `CREATE TABLE ${schema}limit_use (
    principal ${text} NOT NULL,
    node ${text} NOT NULL,
    rate ${integer} NOT NULL,
    calls ${integer} NOT NULL,
    at ${integer} NOT NULL,
    PRIMARY KEY (principal, node)
  )${tableOptions}`,
];

const toolNames = ({ schema, types: { text, integer }, tableOptions }: Dialect): readonly string[] => [
  `CREATE TABLE ${schema}tool_name (
    name ${text} PRIMARY KEY,
    owner ${text} NOT NULL,
    at ${integer} NOT NULL
  )${tableOptions}`,
];

/** In order. A step that was released never changes. */
export const STEPS: readonly Step[] = [
  { prepare: first },
  { prepare: fetched },
  { prepare: hookFeedback },
  { prepare: access },
  { prepare: toolNames },
];
