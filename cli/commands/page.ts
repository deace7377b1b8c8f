import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import type { LoadedKo } from '../../src/activation/loaded-ko.ts';
import { inspect, type Inspection } from '../../src/check/inspect.ts';
import { aboutKo, type Evidence } from '../../src/knowledge-object/about-ko.ts';
import { koKey } from '../../src/knowledge-object/id.ts';
import type { KoMetadata } from '../../src/knowledge-object/metadata.ts';
import type { Context } from '../lib/context.ts';
import { ioFailure, usageFailure } from '../lib/exit.ts';
import { openSource } from '../lib/open-sources.ts';

interface PageOptions {
  readonly force?: boolean;
  readonly out?: string;
  readonly json?: boolean;
}

const PAGE = 'index.html';

export function pageCommand(context: Context): Command {
  return new Command('page')
    .description('Write the information page of a knowledge object, from its metadata and descriptors')
    .argument('<dir|zip>', 'the knowledge object')
    .option('--out <file>', `where to write (default: ${PAGE} in the folder)`)
    .option('--force', 'overwrite what is there')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Examples:
  kgrid page my-score                   writes my-score/${PAGE}, which lists at an activator link to
  kgrid page my-score.zip --out page.html

The page loads nothing from elsewhere. Its forms call the activator whose address the reader gives.`,
    )
    .action(async (path: string, options: PageOptions) => {
      await writePage(context, path, options);
    });
}

async function writePage({ terminal: open }: Context, path: string, options: PageOptions): Promise<void> {
  const terminal = open(options);
  await using source = await openSource(path);
  if (source.damage !== undefined) throw usageFailure(`${source.label}: ${source.damage}`);
  if (source.isArchive && options.out === undefined)
    throw usageFailure(`${source.label} is an archive: say with --out where to write the page`);
  const inspection = await inspect(source);
  const { metadata, ko, findings } = inspection;
  if (metadata === undefined) {
    const why = findings[0]?.message ?? 'it has no metadata.json';
    throw usageFailure(`${source.label} has no metadata that can be read: ${why}`);
  }
  const file = options.out ?? join(path, PAGE);
  if (options.force !== true && existsSync(file))
    throw usageFailure(`${file} is there already: give --force to overwrite it, nothing was changed`);
  const page = informationPage({ metadata, ko, examples: examplesOf(inspection) });
  await writeFile(file, page, { flag: options.force === true ? 'w' : 'wx' }).catch((thrown: unknown) => {
    throw ioFailure(`${file} cannot be written: ${thrown instanceof Error ? thrown.message : String(thrown)}`, thrown);
  });
  terminal.print(`${terminal.good('Wrote')} ${file}: ${koKey(metadata.id)}`);
  if (metadata.title === undefined) terminal.print('  It has no title: the page shows its id');
  terminal.json({ ok: true, ko: koKey(metadata.id), file });
}

/** Gives the first example of each path that is to succeed, as indented JSON. */
function examplesOf({ examples }: Inspection): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { endpoint, body, contentType, expected } of examples) {
    if (expected.kind === 'error' || body === undefined || contentType !== 'application/json') continue;
    if (!found.has(endpoint)) found.set(endpoint, JSON.stringify(JSON.parse(body), undefined, 2));
  }
  return found;
}

/** The information page of a knowledge object: HTML that loads nothing, made of its metadata and descriptors. */
interface PageSource {
  readonly metadata: KoMetadata;
  /** Absent where it deploys nothing, or nothing that can be loaded. */
  readonly ko?: LoadedKo | undefined;
  /** A body that an endpoint takes, as JSON text, by its path. */
  readonly examples: ReadonlyMap<string, string>;
}

const STYLE = `body{margin:0 auto;max-width:60rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:#17303b;background:#fff;overflow-wrap:anywhere}
dt{color:#4d6672;font-size:.9rem}dd{margin:0 0 .5rem}textarea,input{box-sizing:border-box;width:100%;font:.95rem ui-monospace,monospace;padding:.4rem}
textarea{min-height:8rem}button{font:inherit;min-height:2.75rem;padding:.25rem 1rem;margin:.5rem 0}pre{white-space:pre-wrap;background:#f2f5f6;padding:.75rem}.missing{font-style:italic;color:#4d6672}`;

const NOT_STATED = '<span class="missing">not stated</span>';

function informationPage({ metadata, ko, examples }: PageSource): string {
  const about = aboutKo(metadata.text);
  const key = koKey(metadata.id);
  const title = escapeHtml(about.title ?? key);
  const facts = [
    fact('Version', about.version === undefined ? [] : [about.version]),
    fact('Date', about.date === undefined ? [] : [about.date]),
    fact('Licence', about.license === undefined ? [] : [about.license]),
    fact('Creator', about.creators),
    fact('Contributors', about.contributors),
    fact('Keywords', about.keywords.length === 0 ? [] : [about.keywords.join(', ')]),
    fact('Documentation', about.documentation),
    fact('@id', [metadata.atId]),
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '${hashOf(STYLE)}'; script-src '${hashOf(FORM_SCRIPT)}'; connect-src http: https:; base-uri 'none'; form-action 'none'">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${about.description === undefined ? NOT_STATED : escapeHtml(about.description)}</p>
<dl>
${facts.join('\n')}
</dl>
<h2>Evidence</h2>
${about.evidence.length === 0 ? `<p>${NOT_STATED}</p>` : `<ul>\n${about.evidence.map(evidenceItem).join('\n')}\n</ul>`}
<h2>Services</h2>
${ko === undefined || ko.library !== undefined || ko.declared.length === 0 ? '<p>It deploys no endpoint.</p>' : services(ko, examples)}
</main>
<script>${FORM_SCRIPT}</script>
</body>
</html>
`;
}

function services(ko: LoadedKo, examples: PageSource['examples']): string {
  const { naan, name } = ko.id;
  const endpoints = ko.declared.map(({ from, entry }) => {
    const path = `${naan}/${name}/${from.apiVersion}${entry.path.startsWith('/') ? '' : '/'}${entry.path}`;
    const operation = `${entry.method.toUpperCase()} /${path}`;
    const about = `<h3><code>${escapeHtml(operation)}</code></h3>\n<p>${escapeHtml(from.service.title ?? '')}</p>`;
    if (entry.method !== 'post') return about;
    const body = examples.get(entry.path) ?? '{}';
    return `${about}
<form data-path="${escapeHtml(path)}" hidden>
<label>Input, as JSON <textarea name="input" spellcheck="false">${escapeHtml(`\n${body}`)}</textarea></label>
<button>Call</button>
<pre aria-live="polite" hidden></pre>
</form>`;
  });
  return `<p id="without">Where scripts run, such as after saving this page, each service has a form here. An activator has one too, at <code>/doc?ko=${escapeHtml(ko.key)}</code>.</p>
<p id="where" hidden><label>Address of the activator <input name="activator" type="url" value="http://127.0.0.1:8080"></label></p>
${[...new Set(endpoints)].join('\n')}`;
}

function evidenceItem({ title, sources, date, creators, documentation, tests }: Evidence): string {
  const part = (name: string, items: readonly string[]): string =>
    items.length === 0 ? '' : `<br>${name}: ${items.map(withLinks).join('; ')}`;
  const heading = title === undefined ? '' : `<strong>${escapeHtml(title)}</strong>`;
  return `<li>${heading}${part('Source', sources)}${part('Date', date === undefined ? [] : [date])}${part('By', creators)}${part('Documentation', documentation)}${part('Tests', tests)}</li>`;
}

const fact = (name: string, values: readonly string[]): string =>
  `<dt>${name}</dt><dd>${values.length === 0 ? NOT_STATED : values.map(withLinks).join('<br>')}</dd>`;

/** A text that is an address as a whole, or ends with one, can be followed. */
function withLinks(text: string): string {
  const start = Math.max(text.lastIndexOf(' '), text.lastIndexOf(',')) + 1;
  const address = text.slice(start);
  if (!/^https?:\/\/[^\s"'<>]+$/.test(address)) return escapeHtml(text);
  return `${escapeHtml(text.slice(0, start))}<a rel="noreferrer" href="${escapeHtml(address)}">${escapeHtml(address)}</a>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text of a package for HTML text and quoted values. */
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`;

/** The script of an information page. It asks nobody but the activator that the reader names, and only when told to. */
const FORM_SCRIPT = `
document.querySelector('#without')?.remove();
const where = document.querySelector('#where');
if (where) where.hidden = false;
for (const form of document.querySelectorAll('form')) {
  const answer = form.querySelector('pre');
  const say = (text) => { answer.hidden = false; answer.textContent = text; };
  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const input = form.elements.input.value;
    let end = where.querySelector('input').value.trim();
    while (end.endsWith('/')) end = end.slice(0, -1);
    try {
      JSON.parse(input);
    } catch (error) {
      return say('The input is no JSON: ' + error.message);
    }
    say('…');
    try {
      const path = form.dataset.path.split('/').map(encodeURIComponent).join('/');
      const response = await fetch(end + '/' + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: input });
      const text = await response.text();
      let shown = text;
      try {
        const body = JSON.parse(text);
        shown = response.ok ? JSON.stringify(body.result, null, 2) : body.Detail ?? text;
      } catch {}
      say(response.ok ? shown : response.status + ': ' + shown);
    } catch (error) {
      say('The activator at ' + end + ' cannot be reached: ' + error.message);
    }
  });
}
`;
