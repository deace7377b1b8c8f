/** How a person names a knowledge object at an activator. */
import { koKey, parseArk, parseKoId } from '../../src/knowledge-object/id.ts';
import type { ActivatorClient } from './client.ts';
import { usageFailure } from './exit.ts';
import { fieldsOf } from './fields.ts';
import { notThere, refusal } from './refusal.ts';

/** `<naan>/<name>/<version>` of such an id, or of its ARK. @throws CommandFailure when it is none. */
export function toKey(named: string): string {
  const id = parseArk(named) ?? parseKoId(named);
  if (id === undefined) throw usageFailure(`${named} is no id: write it like hello/welcome/v1.0`);
  return koKey(id);
}

/** The same; without a version it is the newest there. @throws CommandFailure also when there is none. */
export async function findKey(named: string, client: ActivatorClient): Promise<string> {
  const [naan = '', name = '', ...rest] = named.replace(/^ark:\/?/, '').split('/');
  if (rest.join('') !== '' || parseKoId(`${naan}/${name}/v`) === undefined) return toKey(named);
  const answer = await client.send(`/kos/${naan}/${name}`);
  if (answer.status === 404) throw notThere(`${naan}/${name}`, client);
  if (answer.status !== 200) throw refusal(answer, client, `does not give ${naan}/${name}`);
  const id = parseKoId(String(fieldsOf(answer.body)['@id']));
  // It names folders and further requests: only what was asked for will do.
  if (id?.naan !== naan || id.name !== name) throw client.strange(`GET /kos/${naan}/${name}`, answer);
  return koKey(id);
}
