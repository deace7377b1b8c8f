/** Each alert by itself, with series that are made up. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { FAMILIES } from '../../src/metrics/families.ts';
import type { Family } from '../../src/metrics/families.ts';
import { inRound } from '../support/round.ts';
import { alertRules, panelExpressions, panels, RULES, variables } from './support/expressions.ts';
import { promtool } from './support/prometheus.ts';

const ME = 'job="kgrid",instance="a"';
const ADVICE = `${ME},service="advice",client="ehr"`;
const EXECUTION = `${ME},ko="a/b",version="v1",endpoint="run",engine="javascript"`;

/** Minutes that are made up. */
const MINUTES = 40;
const at = (value: number): string => `${value}x${MINUTES}`;
const growing = (by: number): string => `0+${by}x${MINUTES}`;

/** What a service has that is well. */
const WELL: Readonly<Record<string, string>> = {
  [`up{${ME}}`]: at(1),
  [`kgrid_ready{${ME}}`]: at(1),
  [`kgrid_shelf_up{${ME}}`]: at(1),
  [`kgrid_shelf_damaged{${ME}}`]: at(0),
  [`kgrid_kos_failed{${ME}}`]: at(0),
  [`kgrid_imports_total{${ME},outcome="done"}`]: growing(5),
  [`kgrid_imports_total{${ME},outcome="shelf-full"}`]: at(3),
  [`http_server_request_duration_seconds_count{${ME},route="/",method="GET",status="200"}`]: growing(1000),
  [`http_server_request_duration_seconds_count{${ME},route="/",method="GET",status="500"}`]: growing(10),
  [`kgrid_executions_total{${EXECUTION},outcome="done"}`]: growing(1000),
  [`kgrid_executions_total{${EXECUTION},outcome="execution-failed"}`]: growing(10),
  // What callers send pages nobody, however often.
  [`kgrid_executions_total{${EXECUTION},outcome="invalid-input"}`]: growing(100),
  [`kgrid_executions_total{${EXECUTION},outcome="body-not-readable"}`]: growing(50),
  [`kgrid_execution_duration_seconds_bucket{${EXECUTION},outcome="done",le="0.5"}`]: growing(990),
  [`kgrid_execution_duration_seconds_bucket{${EXECUTION},outcome="done",le="+Inf"}`]: growing(1000),
  [`kgrid_validation_failures_total{${EXECUTION},part="result",action="logged"}`]: at(7),
  [`kgrid_endpoints{${ME},engine="javascript",status="activated"}`]: at(9),
  [`kgrid_endpoints{${ME},engine="javascript",status="failed"}`]: at(0),
  [`kgrid_engine_up{${ME},engine="javascript"}`]: at(1),
  [`kgrid_engine_up{${ME},engine="python"}`]: at(0),
  [`kgrid_runtimes{${ME},engine="python",state="down"}`]: at(0),
  [`kgrid_process_restarts_total{${ME},kind="sandbox",engine="javascript",reason="timeout"}`]: growing(1),
  [`kgrid_process_restarts_total{${ME},kind="runtime",engine="python",reason="lost"}`]: growing(10),
  [`kgrid_queue_longest_calls{${ME},engine="javascript"}`]: at(400),
  [`kgrid_queue_limit_calls{${ME}}`]: at(1000),
  [`nodejs_eventloop_active_seconds_total{${ME}}`]: growing(30),
  [`process_open_fds{${ME}}`]: at(70),
  [`process_max_fds{${ME}}`]: at(100),
  [`kgrid_logins_refused_total{${ME},reason="wrong"}`]: growing(1),
  [`kgrid_log_lost_lines_total{${ME}}`]: at(100),
  [`kgrid_activations_total{${ME},engine="javascript",result="activated"}`]: growing(1),
  [`kgrid_activations_total{${ME},engine="javascript",result="failed"}`]: at(3),
  [`kgrid_endpoints_tried_again{${ME},engine="python"}`]: at(0),
  [`kgrid_audit_lost_total{${ME}}`]: at(2),
  [`kgrid_confinement_up{${ME}}`]: at(1),
  [`kgrid_fleet_up{${ME}}`]: at(1),
  [`kgrid_fleet_nodes{${ME},state="live"}`]: at(2),
  [`kgrid_fleet_nodes{${ME},state="silent"}`]: at(0),
  [`kgrid_fleet_generation{${ME}}`]: at(7),
  [`kgrid_fleet_generation{job="kgrid",instance="b"}`]: at(7),
  [`kgrid_fleet_run_nowhere{${ME}}`]: at(0),
  [`kgrid_fleet_other_history{${ME}}`]: at(0),
  [`kgrid_batches_total{${ME},outcome="broken-off"}`]: at(4),
  [`kgrid_cds_answers_total{${ADVICE},outcome="cards"}`]: growing(100),
};

const OTHER = EXECUTION.replace('a/b', 'other');

/** What is otherwise where an alert fires. */
const ILL: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  KgridDown: { [`up{${ME}}`]: at(0) },
  KgridNotReady: { [`kgrid_ready{${ME}}`]: at(0) },
  KgridShelfDown: { [`kgrid_shelf_up{${ME}}`]: at(0) },
  KgridShelfTakesNothing: { [`kgrid_imports_total{${ME},outcome="shelf-full"}`]: growing(1) },
  KgridShelfDamaged: { [`kgrid_shelf_damaged{${ME}}`]: at(1) },
  KgridServerErrors: {
    [`http_server_request_duration_seconds_count{${ME},route="/",method="GET",status="500"}`]: growing(100),
  },
  KgridCardsWithheld: { [`kgrid_cds_answers_total{${ADVICE},outcome="missing-data"}`]: growing(100) },
  KgridEndpointFails: { [`kgrid_executions_total{${EXECUTION},outcome="execution-failed"}`]: growing(100) },
  KgridEndpointGetsBadInput: { [`kgrid_executions_total{${EXECUTION},outcome="invalid-input"}`]: growing(1000) },
  KgridEndpointSlow: {
    [`kgrid_execution_duration_seconds_bucket{${EXECUTION},outcome="done",le="0.5"}`]: growing(500),
    [`kgrid_execution_duration_seconds_bucket{${EXECUTION},outcome="done",le="5.0"}`]: growing(1000),
  },
  KgridResultsBreakSchema: {
    [`kgrid_validation_failures_total{${EXECUTION},part="result",action="logged"}`]: growing(1),
  },
  KgridEndpointsNotActive: { [`kgrid_endpoints{${ME},engine="javascript",status="failed"}`]: at(1) },
  KgridActivationFails: {
    [`kgrid_activations_total{${ME},engine="javascript",result="failed"}`]: growing(1),
  },
  KgridPackagesNotInstalled: { [`kgrid_endpoints_tried_again{${ME},engine="python"}`]: at(1) },
  // Among many that are right, one that nobody answers.
  KgridCallsNotActive: { [`kgrid_executions_total{${EXECUTION},outcome="endpoint-not-active"}`]: growing(1) },
  KgridEngineDown: { [`kgrid_engine_up{${ME},engine="javascript"}`]: at(0) },
  KgridRuntimeDown: { [`kgrid_runtimes{${ME},engine="python",state="down"}`]: at(1) },
  KgridProcessesEnd: {
    [`kgrid_process_restarts_total{${ME},kind="sandbox",engine="javascript",reason="timeout"}`]: growing(10),
  },
  KgridQueueLong: { [`kgrid_queue_longest_calls{${ME},engine="javascript"}`]: at(600) },
  KgridBusy: { [`nodejs_eventloop_active_seconds_total{${ME}}`]: growing(59) },
  KgridFilesRunOut: { [`process_open_fds{${ME}}`]: at(90) },
  KgridLoginsRefused: { [`kgrid_logins_refused_total{${ME},reason="wrong"}`]: growing(10) },
  KgridLogLinesLost: { [`kgrid_log_lost_lines_total{${ME}}`]: growing(1) },
  KgridAuditLost: { [`kgrid_audit_lost_total{${ME}}`]: growing(1) },
  KgridConfinementDown: { [`kgrid_confinement_up{${ME}}`]: at(0) },
  KgridFleetDown: { [`kgrid_fleet_up{${ME}}`]: at(0) },
  KgridFleetNodeSilent: { [`kgrid_fleet_nodes{${ME},state="silent"}`]: at(1) },
  KgridFleetBehind: { [`kgrid_fleet_generation{job="kgrid",instance="b"}`]: at(8) },
  KgridFleetRunsNowhere: { [`kgrid_fleet_run_nowhere{${ME}}`]: at(1) },
  KgridFleetOtherHistory: { [`kgrid_fleet_other_history{${ME}}`]: at(1) },
  KgridBatchesBreakOff: { [`kgrid_batches_total{${ME},outcome="broken-off"}`]: growing(1) },
  KgridSeriesRunOut: { [`kgrid_executions_total{${OTHER},outcome="done"}`]: growing(1) },
};

/** Prometheus is fetched for the long round alone. */
const testByPrometheus = (name: string, run: () => void): void => {
  if (inRound(false, true)) void test(name, run);
};

testByPrometheus('promtool finds nothing wrong with the rules', () => {
  const { status, said } = promtool(['check', 'rules', RULES]);
  assert.equal(status, 0, said);
  assert.match(said, new RegExp(`SUCCESS: ${alertRules().length} rules found`));
});

test('each alert has series that make it fire', () =>
  assert.deepEqual(
    Object.keys(ILL),
    alertRules().map(({ alert }) => alert),
  ));

testByPrometheus('each alert fires when it should, alone, and none where all is well', () => {
  const firing = (alerts: readonly string[], series: Readonly<Record<string, string>>): object => ({
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: `${MINUTES}m`,
        exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
      },
    ],
  });
  const tests = [
    firing([], WELL),
    ...Object.entries(ILL).map(([alert, series]) => firing([alert], { ...WELL, ...series })),
  ];
  const folder = mkdtempSync(join(tmpdir(), 'kgrid-rules-'));
  const file = join(folder, 'test.yaml');
  try {
    writeFileSync(file, stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }));
    const { status, said } = promtool(['test', 'rules', file]);
    assert.equal(status, 0, said);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('expressions name only series and labels that there are', () => {
  const families: readonly Family[] = Object.values(FAMILIES);
  const labels = new Set(['job', 'instance', 'le', 'alertname', ...families.flatMap((each) => each.labels)]);
  const names = new Set([
    'up',
    ...families.flatMap(({ name, type }) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
    ),
  ]);
  const asked = variables().flatMap(({ query }) => (typeof query === 'string' ? [] : [query.query]));
  const all = [...alertRules().map(({ expr }) => expr), ...panelExpressions().map(({ expr }) => expr), ...asked];
  const unknown = all.flatMap((expr) => {
    const bare = expr.replaceAll(/"[^"]*"/g, '""');
    const named = bare.match(/\b(?:kgrid|http|process|nodejs|up)(?:_\w+)?\b/g) ?? [];
    const grouped = [...bare.matchAll(/\b(?:by|on|without|group_left) \(([^)]*)\)/g)].flatMap(([, list = '']) =>
      list.split(/, */).filter((each) => each !== ''),
    );
    const matched = [...bare.matchAll(/(\w+)(?:=~|!=|=)""/g)].map(([, label = '']) => label);
    return [
      ...named.filter((name) => !names.has(name)),
      ...[...grouped, ...matched].filter((label) => !labels.has(label)),
    ].map((each) => `${each} in ${expr}`);
  });
  assert.deepEqual(unknown, []);
});

test('the panels of the dashboard have ids and places of their own', () => {
  const all = panels();
  assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
  const taken = new Set<string>();
  for (const { title, gridPos } of all) {
    assert.ok(gridPos.x + gridPos.w <= 24, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.ok(!taken.has(`${x} ${y}`), title);
        taken.add(`${x} ${y}`);
      }
  }
});
