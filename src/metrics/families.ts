/** All series, by their names: what is written, and what the table of docs/observability.md is held to. */
export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

const EXECUTION = ['ko', 'version', 'endpoint', 'engine', 'outcome'];

export const FAMILIES = {
  requests: {
    name: 'http_server_request_duration_seconds',
    type: 'histogram',
    labels: ['route', 'method', 'status'],
    help: 'Time from a request to its answer, by the pattern of the route',
  },
  executionDuration: {
    name: 'kgrid_execution_duration_seconds',
    type: 'histogram',
    labels: EXECUTION,
    help: 'Time that a call of an endpoint took, waiting included; of a record in a batch, its share',
  },
  executions: {
    name: 'kgrid_executions_total',
    type: 'counter',
    labels: EXECUTION,
    help: 'Calls of endpoints, by clients, by other knowledge objects and of records, by how they ended',
  },
  koInfo: {
    name: 'kgrid_ko_info',
    type: 'gauge',
    labels: ['ko', 'version', 'digest'],
    help: 'Knowledge objects that were called and what of them is active: 1',
  },
  schemaBreaks: {
    name: 'kgrid_validation_failures_total',
    type: 'counter',
    labels: ['ko', 'version', 'endpoint', 'engine', 'part', 'action'],
    help: 'Inputs and results that broke the schema of their endpoint: refused, logged, or unchecked, where that could not be told',
  },
  queue: {
    name: 'kgrid_queue_calls',
    type: 'gauge',
    labels: ['engine'],
    help: 'Calls that wait for a process or a connection',
  },
  longestQueue: {
    name: 'kgrid_queue_longest_calls',
    type: 'gauge',
    labels: ['engine'],
    help: 'Calls that wait for the one endpoint, knowledge object or runtime for which most do',
  },
  queueLimit: {
    name: 'kgrid_queue_limit_calls',
    type: 'gauge',
    labels: [],
    help: 'Calls that may wait for one endpoint',
  },
  batchesRunning: {
    name: 'kgrid_batches_running',
    type: 'gauge',
    labels: [],
    help: 'Batches whose records are being run',
  },
  batches: {
    name: 'kgrid_batches_total',
    type: 'counter',
    labels: ['outcome'],
    help: 'Batches that ended: done, client-gone or broken-off',
  },
  batchRecords: {
    name: 'kgrid_batch_records_total',
    type: 'counter',
    labels: ['outcome'],
    help: 'Records of batches that were answered: done or failed',
  },
  heldBytes: {
    name: 'kgrid_held_bytes',
    type: 'gauge',
    labels: [],
    help: 'Bodies and answers that are held for clients (--max-held bounds them)',
  },
  processes: {
    name: 'kgrid_processes',
    type: 'gauge',
    labels: ['kind', 'engine'],
    help: 'Processes that run code of knowledge objects: sandbox or worker',
  },
  processMemory: {
    name: 'kgrid_process_memory_bytes',
    type: 'gauge',
    labels: ['kind', 'engine'],
    help: 'Resident memory of all processes of a kind: service, sandbox or worker',
  },
  restarts: {
    name: 'kgrid_process_restarts_total',
    type: 'counter',
    labels: ['kind', 'engine', 'reason'],
    help: 'Processes that were lost or ended for a reason, so that others take their place, and runtimes that were',
  },
  isolates: {
    name: 'kgrid_isolates',
    type: 'gauge',
    labels: ['engine'],
    help: 'Isolates in which sandboxes keep the code of endpoints ready',
  },
  engineUp: {
    name: 'kgrid_engine_up',
    type: 'gauge',
    labels: ['engine'],
    help: '1 while an engine can run code, else 0',
  },
  runtimes: {
    name: 'kgrid_runtimes',
    type: 'gauge',
    labels: ['engine', 'state'],
    help: 'External runtimes that registered: up or down',
  },
  endpoints: {
    name: 'kgrid_endpoints',
    type: 'gauge',
    labels: ['engine', 'status'],
    help: 'Endpoints that are loaded: activated, failed or loaded, which is not decided yet',
  },
  failedKos: {
    name: 'kgrid_kos_failed',
    type: 'gauge',
    labels: [],
    help: 'Knowledge objects on the shelf of which no endpoint could be loaded',
  },
  triedAgain: {
    name: 'kgrid_endpoints_tried_again',
    type: 'gauge',
    labels: ['engine'],
    help: 'Endpoints whose activation failed for a reason that may pass, such as a package registry that is away',
  },
  activations: {
    name: 'kgrid_activations_total',
    type: 'counter',
    labels: ['engine', 'result'],
    help: 'Activations of endpoints: activated or failed',
  },
  activationDuration: {
    name: 'kgrid_activation_duration_seconds',
    type: 'histogram',
    labels: ['engine', 'result'],
    help: 'Time that the activation of an endpoint took once it had its turn',
  },
  shelfKos: {
    name: 'kgrid_shelf_kos',
    type: 'gauge',
    labels: [],
    help: 'Versions of knowledge objects on the shelf',
  },
  shelfDamaged: {
    name: 'kgrid_shelf_damaged',
    type: 'gauge',
    labels: [],
    help: 'What lies on the shelf and cannot be served',
  },
  shelfScrubbed: {
    name: 'kgrid_shelf_scrubbed_packages_total',
    type: 'counter',
    labels: [],
    help: 'Packages on the shelf whose files were all read to find damage',
  },
  shelfUp: {
    name: 'kgrid_shelf_up',
    type: 'gauge',
    labels: [],
    help: '1 while the shelf can be read, and written where it may be, else 0',
  },
  imports: {
    name: 'kgrid_imports_total',
    type: 'counter',
    labels: ['outcome'],
    help: 'Packages that were imported, by upload or manifest: done, or why not',
  },
  hookAnswers: {
    name: 'kgrid_cds_answers_total',
    type: 'counter',
    labels: ['service', 'client', 'outcome'],
    help: 'Answers of CDS services: cards, no-cards, failed, or why cards were withheld',
  },
  loginsRefused: {
    name: 'kgrid_logins_refused_total',
    type: 'counter',
    labels: ['reason'],
    help: 'Requests that were refused for their login: missing, wrong, scope or unchecked; a wrong one at /actuator/health counts too',
  },
  auditLost: {
    name: 'kgrid_audit_lost_total',
    type: 'counter',
    labels: [],
    help: 'Audit records that could not be kept: only the log has them',
  },
  lostLines: {
    name: 'kgrid_log_lost_lines_total',
    type: 'counter',
    labels: [],
    help: 'Lines of the log that its reader did not take',
  },
  ready: {
    name: 'kgrid_ready',
    type: 'gauge',
    labels: [],
    help: '1 while the service is ready for requests, else 0',
  },
  confinementUp: {
    name: 'kgrid_confinement_up',
    type: 'gauge',
    labels: [],
    help: '1 where the kernel confines the code of knowledge objects in full, else 0',
  },
  build: {
    name: 'kgrid_build_info',
    type: 'gauge',
    labels: ['version', 'commit', 'node'],
    help: 'The version of the activator, the commit it was made of, and the version of Node: 1',
  },
  fleetNode: {
    name: 'kgrid_fleet_node_info',
    type: 'gauge',
    labels: ['fleet', 'name', 'id'],
    help: 'Of which node of a fleet all of this is, as /actuator/fleet names it: 1',
  },
  fleetUp: {
    name: 'kgrid_fleet_up',
    type: 'gauge',
    labels: [],
    help: '1 while the component fleet of the health is UP, else 0',
  },
  fleetNodes: {
    name: 'kgrid_fleet_nodes',
    type: 'gauge',
    labels: ['state'],
    help: 'Nodes of the fleet as this one knows them: live or silent',
  },
  fleetGeneration: {
    name: 'kgrid_fleet_generation',
    type: 'gauge',
    labels: [],
    help: 'The last change of what is active in the fleet that this node has made',
  },
  fleetRunNowhere: {
    name: 'kgrid_fleet_run_nowhere',
    type: 'gauge',
    labels: [],
    help: 'Knowledge objects that are to be active and run on no node of the fleet',
  },
  fleetOtherHistory: {
    name: 'kgrid_fleet_other_history',
    type: 'gauge',
    labels: [],
    help: '1 while the database of the fleet is another than it was and no operator has confirmed that, else 0',
  },
  cpu: {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    labels: [],
    help: 'Processor time of the service itself',
  },
  resident: {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    labels: [],
    help: 'Resident memory of the service itself',
  },
  virtual: {
    name: 'process_virtual_memory_bytes',
    type: 'gauge',
    labels: [],
    help: 'Virtual memory of the service itself',
  },
  openFiles: {
    name: 'process_open_fds',
    type: 'gauge',
    labels: [],
    help: 'Files and connections that the service has open',
  },
  mostFiles: {
    name: 'process_max_fds',
    type: 'gauge',
    labels: [],
    help: 'Files and connections that it may have open',
  },
  start: {
    name: 'process_start_time_seconds',
    type: 'gauge',
    labels: [],
    help: 'When the service was started, in seconds since 1970',
  },
  heapUsed: {
    name: 'nodejs_heap_size_used_bytes',
    type: 'gauge',
    labels: [],
    help: 'Memory of the JavaScript heap in use',
  },
  heapTotal: {
    name: 'nodejs_heap_size_total_bytes',
    type: 'gauge',
    labels: [],
    help: 'Memory of the JavaScript heap',
  },
  external: {
    name: 'nodejs_external_memory_bytes',
    type: 'gauge',
    labels: [],
    help: 'Memory of buffers and other objects outside the heap',
  },
  loopActive: {
    name: 'nodejs_eventloop_active_seconds_total',
    type: 'counter',
    labels: [],
    help: 'Time in which the event loop was at work; near 1 a second, callers wait for the service itself',
  },
} as const satisfies Record<string, Family>;

export type FamilyKey = keyof typeof FAMILIES;
