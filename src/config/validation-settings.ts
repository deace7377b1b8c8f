import { VALIDATION_MODES } from '../knowledge-object/validation-mode.ts';
import type { Setting } from './setting.ts';

export const VALIDATION_SETTINGS = [
  {
    option: 'validate-inputs',
    env: 'KGRID_VALIDATE_INPUTS',
    kind: 'choice',
    choices: VALIDATION_MODES,
    default: 'off',
    group: 'Engines',
    help: 'Inputs against the schemas of their endpoints: log what breaks them, or enforce; given, off also overrides knowledge objects that ask for it',
  },
] as const satisfies readonly Setting[];
