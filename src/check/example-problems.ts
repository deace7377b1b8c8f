/** Worked examples that cannot be right, whatever the code does. */
import type { LoadedKo } from '../activation/loaded-ko.ts';
import { METADATA_FILE } from '../knowledge-object/metadata.ts';
import { ENGINES } from './engines.ts';
import { problem } from './findings.ts';
import type { Finding } from './findings.ts';
import { EXAMPLES_FILE } from '../knowledge-object/worked-examples.ts';
import type { WorkedExample } from '../knowledge-object/worked-examples.ts';

export function exampleProblems(ko: LoadedKo, examples: readonly WorkedExample[]): Finding[] {
  const refused = new Set<string>();
  return examples.flatMap((example) => {
    const message = addressProblem(ko, example);
    if (message !== undefined) return [problem(EXAMPLES_FILE, example.line, `"${example.name}" ${message}`)];
    const mediaType = mediaTypeProblem(ko, example);
    // The next example of the same endpoint has the same problem.
    const key = `${example.endpoint} ${example.contentType}`;
    if (mediaType === undefined || refused.has(key)) return [];
    refused.add(key);
    return [mediaType];
  });
}

function addressProblem(
  { services, library }: LoadedKo,
  { endpoint, method, hook }: WorkedExample,
): string | undefined {
  // What `cds-hooks.yaml` offers is found out when it is called.
  if (hook !== undefined) return undefined;
  // Its functions are known when it is loaded.
  if (library !== undefined) return undefined;
  const deployments = services.map(({ deployment }) => deployment);
  const deployment = deployments.find(({ endpoints }) => endpoints.has(endpoint));
  const entries = deployment?.endpoints.get(endpoint);
  if (deployment === undefined || entries === undefined) {
    const known = deployments.flatMap(({ endpoints }) => [...endpoints.keys()]).join(', ') || 'none';
    const files = deployments.map(({ file }) => file).join(' and ') || METADATA_FILE;
    return `calls ${endpoint}, which ${files} does not deploy; it deploys: ${known}`;
  }
  if (entries.some((each) => each.method === method)) return undefined;
  const [first] = entries;
  const deployed = `calls ${method.toUpperCase()} ${endpoint}, but ${deployment.file} deploys ${first?.method.toUpperCase() ?? ''}`;
  // An example that is right must not be changed for a deployment that is wrong.
  return ENGINES.get(first?.engine ?? '')?.method === method
    ? `${deployed}: put "${method}:" there`
    : `${deployed}: set "method: ${first?.method ?? ''}"`;
}

/** The request would be refused with 415; at fault is most often the descriptor. */
function mediaTypeProblem(
  { services }: LoadedKo,
  { endpoint, method, contentType, expected, line }: WorkedExample,
): Finding | undefined {
  if (method === 'get' || expected.kind === 'error') return undefined;
  const from = services.find(({ deployment }) => deployment.endpoints.has(endpoint));
  const operation = from?.service.paths.get(endpoint)?.methods.get(method);
  const declared = operation?.requestMediaTypes;
  if (from === undefined || operation === undefined || declared === undefined) return undefined;
  const type = bare(contentType);
  const fits = declared
    .map(bare)
    .some((each) => each === type || each === '*/*' || (each.endsWith('/*') && type.startsWith(each.slice(0, -1))));
  if (fits) return undefined;
  return problem(
    from.service.file,
    operation.line,
    `${endpoint} takes ${declared.join(', ')}, but the example in ${EXAMPLES_FILE}:${line} sends ${contentType}: correct the media type under requestBody.content, or set contentType there`,
  );
}

const bare = (type: string): string => (type.split(';')[0] ?? '').trim().toLowerCase();
