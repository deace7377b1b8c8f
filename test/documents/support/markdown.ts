/** Reads what the tests need of a Markdown text: fenced blocks, tables, links and headings. */

export interface Block {
  /** First word after the fence, such as `sh`. */
  readonly language: string;
  /** What follows it: words, and `name=value`. */
  readonly words: readonly string[];
  readonly text: string;
  /** From 1, of the fence. */
  readonly line: number;
}

/** The fenced blocks, in order. */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  const lines = markdown.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const [, fence, info = ''] = /^(`{3,})(.*)$/.exec(lines[i] ?? '') ?? [];
    if (fence === undefined) continue;
    const [language = '', ...words] = info.trim().split(/\s+/);
    const from = i + 1;
    do i++;
    while (i < lines.length && lines[i] !== fence);
    blocks.push({ language, words, text: lines.slice(from, i).join('\n') + '\n', line: from });
  }
  return blocks;
}

/** The value of `name=value` behind a fence. */
export const wordOf = (block: Block, name: string): string | undefined =>
  block.words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);

export type Row = Readonly<Record<string, string>>;

/** The table whose first column has this title; its rows by column title. @throws Error when there is none. */
export function tableOf(markdown: string, firstColumn: string): Row[] {
  const lines = withoutBlocks(markdown).split('\n');
  const at = lines.findIndex((line) => cellsOf(line)[0] === firstColumn);
  if (at < 0) throw new Error(`There is no table whose first column is '${firstColumn}'`);
  const titles = cellsOf(lines[at] ?? '');
  const rows: Row[] = [];
  for (const line of lines.slice(at + 2)) {
    if (!line.startsWith('|')) break;
    rows.push(Object.fromEntries(cellsOf(line).map((cell, i) => [titles[i] ?? '', cell])));
  }
  return rows;
}

/** The cells of a line of a table, where `\|` is no border; empty for any other line. */
export function cellsOf(line: string): string[] {
  if (!line.startsWith('|')) return [];
  const cells = line
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/);
  return cells.map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/** What stands in backticks in a cell. */
export const codesIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

export const withoutBlocks = (markdown: string): string => markdown.replace(/^(`{3,}).*\n(?:[\s\S]*?\n)?\1$/gm, '');

/** Targets of links and images, without what the code of the text holds. */
export function linksOf(markdown: string): string[] {
  const text = withoutBlocks(markdown).replace(/`[^`\n]*`/g, '');
  const inline = [...text.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g)];
  const references = [...text.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)];
  return [...inline, ...references].map(([, target = '']) => target);
}

/** The anchors of the headings, as GitHub makes them. */
export function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutBlocks(markdown).matchAll(/^#{1,6}\s+(.*?)\s*#*$/gm)) {
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = words.replace(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
    let unique = anchor;
    for (let i = 1; anchors.has(unique); i++) unique = `${anchor}-${i}`;
    anchors.add(unique);
  }
  return anchors;
}
