/**
 * Says of a failure what it is where the kernel or the proxy refused something: they and the libraries of languages have
 * words of their own. Only failures are looked at.
 */
import { formatHostPort } from '../../lib/host-port.ts';
import type { HostPort } from '../../lib/host-port.ts';
import { optionFor, type NetworkPermission, type Refusal } from './permission.ts';

export interface NetworkState {
  /** `<naan>/<name>`. */
  readonly name: string;
  /** What its descriptors ask for. */
  readonly wanted: readonly HostPort[];
  /** Undefined where it has none. */
  readonly permission?: NetworkPermission;
  /** What its proxy refused last. */
  readonly last?: Refusal | undefined;
  /** The kernel refuses what is not allowed; true where it is left out. */
  readonly isWalled?: boolean;
}

/** How Node, undici, urllib, requests, httpx and asyncio tell that a connection or the question for a name was refused. */
const NETWORK = [
  /\b(?:connect|bind|listen) E(?:ACCES|PERM|AFNOSUPPORT)\b/,
  /\bgetaddrinfo E[A-Z_]+\b/,
  /\bquery[A-Z]\w{0,9} ECONNREFUSED\b/,
  /\[Errno -[235]\]/,
  /\b(?:urlopen error|new connection:|Connect call failed|connect to host) .{0,200}\[Errno (?:1|13|97)\]/,
  /\burlopen error \[Errno (?:1|13|97)\]/,
  /^ConnectError: \[Errno (?:1|13|97)\]/,
];
/** How they tell that a program was not started. */
const PROCESSES = [
  /\bspawn(?:Sync)? .{0,200}\bE(?:PERM|ACCES|AGAIN)\b/,
  /--allow-child-process\b/,
  /\bprocesses cannot be started here\b/,
];
const OF_FILES = 'knowledge objects read their own folder, and write in their folder for temporary files alone';
/** How the permission model of Node tells of the rest, with options that are no settings of the service. */
const OF_NODE: readonly (readonly [RegExp, string])[] = [
  [/--allow-worker\b/, 'knowledge objects have no worker threads; what a call does, it does in its own'],
  [/--allow-fs-(?:read|write)\b|\bAPI requires full fs\.read and fs\.write permissions/, OF_FILES],
  [/\buv_os_get_passwd returned E/, 'knowledge objects cannot read who the users of this machine are'],
  [
    /^Error: No such built-in module: node:sqlite\b/,
    'it opens files past all checks, and is closed to knowledge objects; packages such as sql.js work',
  ],
];
const OPTION_OF_NODE = /\. Use --allow-[a-z-]{1,30} to manage permissions\./;
/** Python's words for either; of a file it names the path too. */
const EITHER = /^(?:PermissionError|OSError): \[Errno (?:1|13|97)\] [A-Z][a-z ]{1,60}$/;
/** A file, which either may name by its path. */
const FILE = /^(?:PermissionError: \[Errno 13\] Permission|Error: EACCES: permission) denied\b.{0,60} '/;
/** That a proxy did not let them through. */
const BY_PROXY = /\b(?:[Pp]roxy|[Tt]unnel)\b.{0,200}\b(?:40[037]|50[234])\b/;

/** The description alone where it tells of something else. */
export function explainFailure(description: string, state: NetworkState): string {
  const reason = reasonOf(description, state);
  if (reason === undefined || description.includes(reason)) return description;
  return `${description.replace(OPTION_OF_NODE, '')}: ${reason}`;
}

function reasonOf(description: string, state: NetworkState): string | undefined {
  const { name, permission, last, isWalled = true } = state;
  if (permission !== undefined && last !== undefined && BY_PROXY.test(description)) return last.message;
  const ofNode = OF_NODE.find(([words]) => words.test(description));
  if (ofNode !== undefined) return ofNode[1];
  if (!isWalled) return undefined;
  if (PROCESSES.some((each) => each.test(description)))
    return `knowledge objects may start no programs; the operator allows it by --allow-processes ${name}`;
  if (FILE.test(description)) return OF_FILES;
  if (NETWORK.some((each) => each.test(description))) return networkReason(state);
  return EITHER.test(description)
    ? `${networkReason(state)}; programs are started where --allow-processes ${name} is given`
    : undefined;
}

function networkReason({ name, wanted, permission }: NetworkState): string {
  if (permission !== undefined)
    return (
      `knowledge objects reach the network by the proxy of HTTPS_PROXY alone; for what cannot use one, the operator ` +
      `opens a port on every host by --allow-network ${name}=*:port`
    );
  if (wanted.length === 0)
    return `network access is refused to knowledge objects; the operator allows it by --allow-network ${name}=host:443`;
  return (
    `network access is refused to knowledge objects, and this one asks for ${wanted.map(formatHostPort).join(', ')}; ` +
    `the operator allows it by ${wanted.map((each) => optionFor(name, each)).join(' ')}`
  );
}
