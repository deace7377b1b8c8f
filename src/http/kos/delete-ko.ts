/** `DELETE /kos/{naan}/{name}/{version}`. */
import { koKey } from '../../knowledge-object/id.ts';
import { audit, authorOf } from '../access/audit.ts';
import { atIdOf } from '../access/audited-names.ts';
import type { Operation } from '../methods.ts';
import type { KoContext } from './ko-context.ts';
import { idOf, requireKo } from './ko-params.ts';
import { expectedTags } from './send-ko.ts';

export const deleteKo = ({ shelf, activator }: KoContext): Operation => ({
  access: 'shelf-write',
  handler: async (request, reply) => {
    const id = idOf(request);
    const entry = await requireKo(shelf, id);
    await shelf.remove(id, expectedTags(request), authorOf(request));
    audit(request, { action: 'delete', subject: koKey(id), ...atIdOf(entry), digest: entry.digest, outcome: 'done' });
    // "A package's files go away only when neither the shelf nor an active endpoint refers to them."
    const isActive = activator.set
      .ofName(id)
      .some((each) => each.ko.key === koKey(id) && each.status !== 'FAILED_TO_ACTIVATE');
    if (isActive) void reply.header('KGrid-Still-Active', 'true');
    return reply.code(204).send();
  },
});
