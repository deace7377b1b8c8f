/** Requests about users and keys; `test/access` has the rest of their answers. */
import { json } from '../sent.ts';
import { both } from './steps.ts';
import type { Step } from './steps.ts';

export const accounts: readonly Step[] = [
  ...both('/actuator/users'),
  ['delete', '/actuator/users/{user}', '/actuator/users/nobody'],
  ['put', '/actuator/users/{user}/password', '/actuator/users/nobody/password', json({ password: 'a long password' })],
  ...both('/actuator/keys'),
  ['delete', '/actuator/keys/{key}', '/actuator/keys/none'],
];
