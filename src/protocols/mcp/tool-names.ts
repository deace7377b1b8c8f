/**
 * Names of tools. Assistants are told to trust a tool by its name, so that a name belongs to the endpoint that was first active
 * under it, and no knowledge object takes another's place.
 */
import type { Endpoint } from '../../activation/endpoint.ts';
import { compareText } from '../../knowledge-object/id.ts';
import { digestOf } from '../../lib/text.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Database } from '../../shelf/store/database.ts';

/** Of names. */
const MOST_CHARACTERS = 64;
const HASH_CHARACTERS = 10;

export interface NamedTool {
  readonly name: string;
  readonly endpoint: Endpoint;
}

interface Claim {
  readonly name: string;
  /** `<naan>/<name>/<endpoint>`. */
  readonly owner: string;
}

export interface ToolNamesOptions {
  /** Undefined where nothing can be written: then the names are those of this process. */
  readonly database: Database | undefined;
  readonly log: Pick<Logger, 'warn'>;
}

export class ToolNames {
  readonly #options: ToolNamesOptions;
  /** By name, who has it by the store. */
  #owners: ReadonlyMap<string, string> = new Map();
  /** The same of what the store could not take yet. */
  readonly #unkept = new Map<string, string>();
  readonly #warned = new Set<string>();

  constructor(options: ToolNamesOptions) {
    this.#options = options;
  }

  /** Names for endpoints that are active now. */
  async of(endpoints: readonly Endpoint[]): Promise<readonly NamedTool[]> {
    const inTurn = endpoints.toSorted(
      (a, b) => compareText(a.activated ?? '', b.activated ?? '') || compareText(a.id, b.id),
    );
    await this.#claim(inTurn.map((each) => ({ name: wantedName(each), owner: each.address })));
    const others = inTurn.filter((each) => this.#ownerOf(wantedName(each)) !== each.address);
    for (let i = 0; i < 3; i++)
      await this.#claim(
        others
          .filter((each) => this.#hashed(each) === undefined)
          .map((each) => ({ name: hashedName(each, i), owner: each.address })),
      );
    return inTurn.flatMap((endpoint) => {
      const wanted = wantedName(endpoint);
      const name = this.#ownerOf(wanted) === endpoint.address ? wanted : this.#hashed(endpoint);
      if (name !== wanted) this.#warn(endpoint, wanted, name);
      return name === undefined ? [] : [{ name, endpoint }];
    });
  }

  /** The first of its other names that is its own. */
  #hashed(endpoint: Endpoint): string | undefined {
    for (let i = 0; i < 3; i++) {
      const name = hashedName(endpoint, i);
      if (this.#ownerOf(name) === endpoint.address) return name;
    }
    return undefined;
  }

  #ownerOf(name: string): string | undefined {
    return this.#owners.get(name) ?? this.#unkept.get(name);
  }

  async #claim(claims: readonly Claim[]): Promise<void> {
    const open = claims.filter(({ name }) => !this.#owners.has(name));
    if (open.length === 0) return;
    for (const { name, owner } of open) if (!this.#unkept.has(name)) this.#unkept.set(name, owner);
    const { database, log } = this.#options;
    if (database === undefined) return;
    try {
      this.#owners = await claimIn(
        database,
        open.map(({ name, owner }) => ({ name, owner: this.#unkept.get(name) ?? owner })),
      );
    } catch (thrown) {
      log.warn(
        { event: 'tool-names-not-kept', cause: messageOf(thrown) },
        'names of tools cannot be kept in the store now: this process remembers them',
      );
    }
  }

  #warn(endpoint: Endpoint, wanted: string, name: string | undefined): void {
    const key = `${endpoint.id} ${wanted}`;
    if (this.#warned.has(key)) return;
    this.#warned.add(key);
    const owner = this.#ownerOf(wanted);
    this.#options.log.warn(
      { event: 'tool-name-taken', ko: endpoint.ko.key, endpoint: endpoint.id, wanted, name, owner },
      `${endpoint.id} is the tool ${String(name)}: the name ${wanted} belongs to ${String(owner)}`,
    );
  }
}

function claimIn(database: Database, claims: readonly Claim[]): Promise<ReadonlyMap<string, string>> {
  const { schema, now } = database.dialect;
  return database.transaction(async ({ query }) => {
    for (const { name, owner } of claims)
      await query(
        `INSERT INTO ${schema}tool_name (name, owner, at) VALUES ($1, $2, ${now}) ON CONFLICT (name) DO NOTHING`,
        [name, owner],
      );
    const { rows } = await query<{ name: string; owner: string }>(`SELECT name, owner FROM ${schema}tool_name`);
    return new Map(rows.map(({ name, owner }) => [name, owner]));
  });
}

/** `mcp.name` of the deployment descriptor, else made of the names of the knowledge object and the endpoint. */
function wantedName({ entry, ko, name }: Endpoint): string {
  const { mcpName } = entry;
  if (mcpName !== undefined) return mcpName;
  const made = plainName(`${ko.id.name}_${name}`);
  return made.length <= MOST_CHARACTERS ? made : cutName(made, digestOf(`${ko.id.name}/${name}`));
}

const hashedName = (endpoint: Endpoint, round: number): string =>
  cutName(wantedName(endpoint), digestOf(endpoint.address, String(round)));

const cutName = (name: string, digest: string): string =>
  `${name.slice(0, MOST_CHARACTERS - HASH_CHARACTERS - 1)}_${digest.slice(0, HASH_CHARACTERS)}`;

const plainName = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, '_');
