/** Worked examples that cannot be right, whatever the code does. */
import type { LoadedKo } from '../../src/activation/loaded-ko.ts';
import { ENGINES } from './engines.ts';
import { problem } from './findings.ts';
import type { Finding } from './findings.ts';
import { EXAMPLES_FILE } from './worked-examples.ts';
import type { WorkedExample } from './worked-examples.ts';

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

function addressProblem({ deployment }: LoadedKo, { endpoint, method }: WorkedExample): string | undefined {
  const entries = deployment.endpoints.get(endpoint);
  if (entries === undefined) {
    const known = [...deployment.endpoints.keys()].join(', ') || 'none';
    return `calls ${endpoint}, which ${deployment.file} does not deploy; it deploys: ${known}`;
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
  { service }: LoadedKo,
  { endpoint, method, contentType, expected, line }: WorkedExample,
): Finding | undefined {
  if (method === 'get' || expected.kind === 'error') return undefined;
  const operation = service.paths.get(endpoint)?.methods.get(method);
  const declared = operation?.requestMediaTypes;
  if (operation === undefined || declared === undefined) return undefined;
  const type = bare(contentType);
  const fits = declared
    .map(bare)
    .some((each) => each === type || each === '*/*' || (each.endsWith('/*') && type.startsWith(each.slice(0, -1))));
  if (fits) return undefined;
  return problem(
    service.file,
    operation.line,
    `${endpoint} takes ${declared.join(', ')}, but the example in ${EXAMPLES_FILE}:${line} sends ${contentType}: correct the media type under requestBody.content, or set contentType there`,
  );
}

const bare = (type: string): string => (type.split(';')[0] ?? '').trim().toLowerCase();
