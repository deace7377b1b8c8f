/** The expressions of the files in `deploy`. */
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { PROJECT } from '../../acceptance/support/service.ts';

export const RULES = join(PROJECT, 'deploy/prometheus/kgrid.rules.yaml');
export const DASHBOARD = join(PROJECT, 'deploy/grafana/kgrid.json');

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly targets?: readonly { readonly expr: string }[];
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query: string | { readonly query: string };
}

export const alertRules = (): AlertRule[] =>
  (parse(readFileSync(RULES, 'utf8')) as { groups: { rules: AlertRule[] }[] }).groups.flatMap(({ rules }) => rules);

const dashboard = (): { readonly panels: readonly Panel[]; readonly templating: { readonly list: Variable[] } } =>
  JSON.parse(readFileSync(DASHBOARD, 'utf8')) as ReturnType<typeof dashboard>;

export const panels = (): readonly Panel[] => dashboard().panels;
export const variables = (): readonly Variable[] => dashboard().templating.list;

/** As Grafana asks them, with all of each variable. */
export const panelExpressions = (): { readonly title: string; readonly expr: string }[] =>
  panels().flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr: filledIn(expr) })));

const filledIn = (expression: string): string =>
  expression.replaceAll('$__rate_interval', '5m').replaceAll(/\$(?:instance|ko)\b/g, '.*');
