/** What becomes of inputs that break the schema of their endpoint: nothing, a line in the log, or a refusal. */
export const VALIDATION_MODES = ['off', 'log', 'enforce'] as const;
export type ValidationMode = (typeof VALIDATION_MODES)[number];

/**
 * The stricter of what the operator and the knowledge object say counts; only an operator who says `off` in so many
 * words turns off what knowledge objects ask for. Undefined: says nothing.
 */
export function strictest(operator: ValidationMode | undefined, own: ValidationMode | undefined): ValidationMode {
  if (operator === 'off') return 'off';
  if (operator === 'enforce' || own === 'enforce') return 'enforce';
  return operator ?? own ?? 'off';
}
