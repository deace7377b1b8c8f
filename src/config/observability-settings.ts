import type { Setting } from './setting.ts';

/** What the service tells of itself. */
export const OBSERVABILITY_SETTINGS = [
  {
    option: 'log-level',
    env: 'KGRID_LOG_LEVEL',
    kind: 'choice',
    choices: ['debug', 'info', 'warn', 'error', 'silent'],
    default: 'info',
    group: 'Logs',
    help: 'What is logged',
  },
  {
    option: 'log-format',
    env: 'KGRID_LOG_FORMAT',
    kind: 'choice',
    choices: ['auto', 'text', 'json'],
    default: 'auto',
    group: 'Logs',
    help: 'auto: text on a terminal, JSON elsewhere',
  },
  {
    option: 'log-executions',
    env: 'KGRID_LOG_EXECUTIONS',
    kind: 'flag',
    default: 'false',
    group: 'Logs',
    help: 'Log a line for each call: what ran, how it ended, how long it took; nothing of its input',
  },
  {
    option: 'log-inputs',
    env: 'KGRID_LOG_INPUTS',
    kind: 'flag',
    default: 'false',
    group: 'Logs',
    help: 'Also log the inputs of calls, which may be data of patients; with --log-executions',
  },
  {
    option: 'log-messages',
    env: 'KGRID_LOG_MESSAGES',
    kind: 'flag',
    default: 'false',
    group: 'Logs',
    help: 'Also log what errors of code say, which may quote data of patients, beside their type and place',
  },
  {
    option: 'provenance',
    env: 'KGRID_PROVENANCE',
    kind: 'flag',
    default: 'false',
    group: 'Logs',
    help: 'Put info.provenance into answers: the package, engine and activator that gave them, when, and what was called',
  },
  {
    option: 'open-metrics',
    env: 'KGRID_OPEN_METRICS',
    kind: 'flag',
    default: 'false',
    group: 'Metrics',
    help: 'Give /actuator/prometheus without a login',
  },
] as const satisfies readonly Setting[];
