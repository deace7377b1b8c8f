/** The thread of `type-stripper.ts`: takes the types out of one file after the other. */
import { stripTypeScriptTypes } from 'node:module';
import { parentPort } from 'node:worker_threads';

export interface StripJob {
  readonly text: string;
}

export type Stripped =
  | { readonly text: string; readonly types: readonly string[] }
  | { readonly refused: string; readonly isSyntax: boolean; readonly line: number }
  /** The parser gave up in the middle: it must not be used again. */
  | { readonly crashed: string };

parentPort?.on('message', (job: StripJob) => parentPort?.postMessage(strip(job)));

/** Stands in errors where the name of the file would. */
const FILE = 'file';
const LINE = /^file:(\d{1,9})\n/;

function strip({ text }: StripJob): Stripped {
  try {
    return { text: stripTypeScriptTypes(text, { sourceUrl: FILE }).replace(SOURCE_URL, ''), types: typesIn(text) };
  } catch (thrown) {
    const { code, message, stack = '' } = thrown as Error & { code?: string };
    const refused = message.slice(0, MAX_MESSAGE_CHARACTERS);
    const line = Number(LINE.exec(stack)?.[1] ?? 1);
    if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') return { refused, isSyntax: false, line };
    if (code === 'ERR_INVALID_TYPESCRIPT_SYNTAX') return { refused, isSyntax: true, line };
    return { crashed: refused };
  }
}

const MAX_MESSAGE_CHARACTERS = 300;
const SOURCE_URL = /\n\n\/\/# sourceURL=file$/;
const MAX_TYPES = 1000;
const TYPE = /\b(?:interface|type)\s+([A-Za-z_$][\w$]{0,99})/g;

/** Names that the file may declare as types: what only imports them imports nothing once there are no types. */
function typesIn(text: string): string[] {
  const found = new Set<string>();
  for (const [, name = ''] of text.matchAll(TYPE)) if (found.add(name).size === MAX_TYPES) break;
  return [...found];
}
