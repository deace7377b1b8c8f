import type { Setting } from './setting.ts';

/** What protocols beside that of the specification do. */
export const PROTOCOL_SETTINGS = [
  {
    option: 'cds-clients',
    env: 'KGRID_CDS_CLIENTS',
    kind: 'list',
    group: 'Access',
    help: 'CDS clients whose JWT opens the CDS services, as <issuer>=<https address of its key set>; others may then call none',
  },
  {
    option: 'cds-fetch',
    env: 'KGRID_CDS_FETCH',
    kind: 'list',
    group: 'Access',
    help: 'FHIR servers of CDS clients from which data may be read that was not prefetched, by their base addresses',
  },
  {
    option: 'cds-deadline',
    env: 'KGRID_CDS_DEADLINE',
    kind: 'duration',
    default: '500ms',
    group: 'Limits',
    help: 'Time in which a CDS service answers, where its knowledge object asks for no longer one',
  },
  {
    option: 'cds-strict',
    env: 'KGRID_CDS_STRICT',
    kind: 'flag',
    default: 'false',
    group: 'Access',
    help: 'Answer 412, not an empty list of cards, where data are missing that a CDS service needs',
  },
  {
    option: 'mcp',
    env: 'KGRID_MCP',
    kind: 'choice',
    choices: ['on', 'off'],
    group: 'Access',
    help: 'Lets assistants call endpoints as tools at /mcp (default: on in the dev profile)',
  },
  {
    option: 'mcp-tools',
    env: 'KGRID_MCP_TOOLS',
    kind: 'count',
    default: '30',
    group: 'Access',
    help: 'Tools that assistants are shown each; of more they get three by which they find and run them',
  },
] as const satisfies readonly Setting[];
