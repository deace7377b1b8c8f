/** Users and API keys: `/actuator/users` and `/actuator/keys`. Passwords and keys that are made here are shown once. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Accounts, ApiKey, User } from '../identity/accounts.ts';
import { GRANT_FORM, isGrant } from '../identity/grants.ts';
import { nameOfKey, newPassword, parseKey, parsePrefix } from '../identity/keys.ts';
import { PASSWORD_CHARACTERS, type Passwords } from '../identity/passwords.ts';
import { bodyNotReadable, conflict, malformedRequest, messageOf, notFound } from '../lib/errors.ts';
import { cutWords, escapeForMessage } from '../lib/text.ts';
import { audit } from './access/audit.ts';
import { requireJson, textBody } from './body.ts';
import { declare } from './methods.ts';

export interface AccountRouteOptions {
  readonly accounts: Accounts;
  readonly passwords: Pick<Passwords, 'hash'>;
  /** The operator of the settings, whose name nobody else has. */
  readonly operator: string | undefined;
}

const MOST_GRANTS = 100;
const NAME_CHARACTERS = 128;
const NOTE_CHARACTERS = 200;
const USERS = '/actuator/users';
const KEYS = '/actuator/keys';

export function accountRoutes(app: FastifyInstance, { accounts, passwords, operator }: AccountRouteOptions): void {
  const listUsers = (_request: FastifyRequest, reply: FastifyReply): unknown => {
    void reply.header('cache-control', 'no-store');
    return accounts.users.map(shownUser);
  };

  const addUser = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const body = bodyOf(request, ['name', 'password', 'grants']);
    const name = nameIn(body['name']);
    if (name === operator?.normalize('NFC')) throw conflict(`${name} is the operator of the settings (--user)`);
    const grants = grantsIn(body['grants']);
    const { password, made } = passwordIn(body['password']);
    await accounts.addUser(name, await passwords.hash(password), grants);
    audit(request, { action: 'user add', subject: subjectOf(name, grants), outcome: 'done' });
    void reply.code(201).headers({ 'cache-control': 'no-store', location: `${USERS}/${encodeURIComponent(name)}` });
    return { name, grants, ...made };
  };

  const removeUser = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { user = '' } = request.params as { readonly user?: string };
    await accounts.removeUser(user.normalize('NFC'));
    audit(request, { action: 'user remove', subject: subjectOf(user), outcome: 'done' });
    return reply.code(204).send();
  };

  const setPassword = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { user = '' } = request.params as { readonly user?: string };
    const name = user.normalize('NFC');
    const { password, made } = passwordIn(bodyOf(request, ['password'])['password']);
    if (accounts.user(name) === undefined) throw notFound(`There is no user ${escapeForMessage(name)}`);
    await accounts.setPassword(name, await passwords.hash(password));
    audit(request, { action: 'user password', subject: subjectOf(name), outcome: 'done' });
    void reply.header('cache-control', 'no-store');
    return { name, ...made };
  };

  const listKeys = (_request: FastifyRequest, reply: FastifyReply): unknown => {
    void reply.header('cache-control', 'no-store');
    return accounts.keys.map(shownKey);
  };

  const addKey = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const body = bodyOf(request, ['note', 'grants', 'expires']);
    const note = noteIn(body['note']);
    const grants = grantsIn(body['grants']);
    const expires = expiryIn(body['expires']);
    const { prefix, key } = await accounts.addKey({ note, grants, expires, createdBy: request.principal.name });
    audit(request, { action: 'key create', subject: subjectOf(nameOfKey(prefix), grants), outcome: 'done' });
    void reply.code(201).headers({ 'cache-control': 'no-store', location: `${KEYS}/${nameOfKey(prefix)}` });
    return {
      key,
      name: nameOfKey(prefix),
      note,
      grants,
      expires: expires === undefined ? null : new Date(expires).toISOString(),
    };
  };

  const revokeKey = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { key = '' } = request.params as { readonly key?: string };
    const prefix = parsePrefix(key);
    if (prefix === undefined) throw notFound('There is no such key: name it by its prefix, such as kgk_0a1b2c3d4e');
    await accounts.revokeKey(prefix);
    audit(request, { action: 'key revoke', subject: nameOfKey(prefix), outcome: 'done' });
    return reply.code(204).send();
  };

  declare(app, USERS, {
    GET: { access: 'account-list', handler: listUsers },
    POST: { access: 'accounts', handler: addUser },
  });
  declare(app, `${USERS}/:user`, { DELETE: { access: 'accounts', handler: removeUser } });
  declare(app, `${USERS}/:user/password`, { PUT: { access: 'accounts', handler: setPassword } });
  declare(app, KEYS, {
    GET: { access: 'account-list', handler: listKeys },
    POST: { access: 'accounts', handler: addKey },
  });
  declare(app, `${KEYS}/:key`, { DELETE: { access: 'accounts', handler: revokeKey } });
}

const time = (milliseconds: number | undefined): string | null =>
  milliseconds === undefined ? null : new Date(milliseconds).toISOString();

const shownUser = ({ name, grants, created, changed }: User): object => ({
  name,
  grants: grants.texts,
  created: time(created),
  changed: time(changed),
});

const shownKey = ({ prefix, note, grants, createdBy, created, expires, revoked }: ApiKey): object => ({
  name: nameOfKey(prefix),
  note,
  grants: grants.texts,
  createdBy,
  created: time(created),
  expires: time(expires),
  revoked: time(revoked),
});

const subjectOf = (name: string, grants: readonly string[] = []): string =>
  cutWords([escapeForMessage(name), ...grants].join(' '));

type Body = Readonly<Record<string, unknown>>;

/** A JSON object with these fields at most. @throws unsupportedMediaType; bodyNotReadable; malformedRequest. */
function bodyOf(request: FastifyRequest, fields: readonly string[]): Body {
  requireJson(request);
  let body: unknown;
  try {
    body = JSON.parse(textBody(request));
  } catch (thrown) {
    throw bodyNotReadable(`The body is not JSON: ${messageOf(thrown)}`, { cause: thrown });
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw malformedRequest(`The body must be a JSON object with ${fields.join(', ')}`);
  const unknown = Object.keys(body).find((each) => !fields.includes(each));
  if (unknown !== undefined)
    throw malformedRequest(`The body has ${escapeForMessage(unknown)}: it may have ${fields.join(', ')}`);
  return body as Body;
}

/** @throws malformedRequest. */
function nameIn(value: unknown): string {
  const name = typeof value === 'string' ? value.normalize('NFC') : '';
  if (name === '' || name.length > NAME_CHARACTERS || /[:\p{C}\s/]/u.test(name) || name.startsWith('kgk_'))
    throw malformedRequest(
      `name must be a text of at most ${NAME_CHARACTERS} characters, without a colon, a slash or a space, which does not begin with kgk_`,
    );
  return name;
}

/** @throws malformedRequest. */
function grantsIn(value: unknown): readonly string[] {
  const given: unknown[] = Array.isArray(value) ? value : [];
  const texts = given.filter((each) => typeof each === 'string');
  if (texts.length === 0 || texts.length < given.length || texts.length > MOST_GRANTS)
    throw malformedRequest(`grants must be a list of 1 to ${MOST_GRANTS} texts, each ${GRANT_FORM}`);
  const wrong = texts.find((each) => !isGrant(each));
  if (wrong !== undefined)
    throw malformedRequest(`${escapeForMessage(wrong.slice(0, 200))} is no grant: write it as ${GRANT_FORM}`);
  return [...new Set(texts)].sort();
}

/** `made`: one that was made here, to be shown. @throws malformedRequest. */
function passwordIn(value: unknown): { readonly password: string; readonly made: { readonly password?: string } } {
  if (value === undefined) {
    const password = newPassword();
    return { password, made: { password } };
  }
  const { least, most } = PASSWORD_CHARACTERS;
  if (typeof value !== 'string' || value.length < least || value.length > most || parseKey(value) !== undefined)
    throw malformedRequest(
      `password must be a text of ${least} to ${most} characters, and no key; without it, one is made`,
    );
  return { password: value, made: {} };
}

/** @throws malformedRequest. */
function noteIn(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value !== 'string' || value.length > NOTE_CHARACTERS || /\p{C}/u.test(value))
    throw malformedRequest(`note must be a text of at most ${NOTE_CHARACTERS} characters in one line`);
  return value;
}

/** Milliseconds since 1970; undefined for a key that does not expire. @throws malformedRequest. */
function expiryIn(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  const at = typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : NaN;
  if (!(at > Date.now()))
    throw malformedRequest('expires must be a time to come, such as 2030-01-31T00:00:00Z, or null for none');
  return at;
}
