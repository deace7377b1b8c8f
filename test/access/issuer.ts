/** A real OAuth 2.0 issuer on loopback, whose keys the tests hold, so that they can sign what it never would. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import Provider from 'oidc-provider';

export const AUDIENCE = 'urn:kgrid:activator';
const CLIENT = { id: 'loader', secret: 'a-secret-of-the-client' };

export interface TestIssuer extends AsyncDisposable {
  readonly url: string;
  /** Paths that were asked for, in order. */
  readonly asked: readonly string[];
  /** A token as the issuer gives it for client credentials. */
  token(scope?: string, audience?: string): Promise<string>;
  /** A token signed with the issuer's present key; `claims` replace those of a good one, undefined removes one. */
  forge(claims?: Record<string, unknown>): Promise<string>;
  publicJwk(): JWK;
  /** From now on the issuer signs with another key, and gives only that one. */
  rotate(): Promise<void>;
  /** Stops listening. */
  stop(): Promise<void>;
}

interface SigningKey {
  readonly id: string;
  readonly privateKey: CryptoKey;
  readonly privateJwk: JWK;
  readonly publicJwk: JWK;
}

export async function startIssuer(): Promise<TestIssuer> {
  let serve: RequestListener = () => undefined;
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    serve(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  let count = 0;
  let key: SigningKey;
  const rotate = async (): Promise<void> => {
    key = await createKey(`key-${++count}`);
    serve = quietly(() => new Provider(url, configurationOf(key))).callback();
  };
  await rotate();

  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  return {
    url,
    asked,
    token: (scope = '', audience = AUDIENCE) => requestToken(url, scope, audience),
    forge: (claims = {}) => forge(url, key, claims),
    publicJwk: () => key.publicJwk,
    rotate,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function createKey(id: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const more = { kid: id, alg: 'RS256', use: 'sig' };
  return {
    id,
    privateKey,
    privateJwk: { ...(await exportJWK(privateKey)), ...more },
    publicJwk: { ...(await exportJWK(publicKey)), ...more },
  };
}

const configurationOf = (key: SigningKey): object => ({
  jwks: { keys: [key.privateJwk] },
  clients: [
    {
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
    },
  ],
  scopes: ['kgrid.write', 'kgrid.other'],
  ttl: { ClientCredentials: 300 },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_context: unknown, audience: string) => ({
        scope: 'kgrid.write kgrid.other',
        audience,
        accessTokenTTL: 300,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
});

async function requestToken(url: string, scope: string, audience: string): Promise<string> {
  const response = await fetch(`${url}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: audience, ...(scope && { scope }) }),
  });
  const answer = (await response.json()) as { access_token?: string };
  if (answer.access_token === undefined) throw new Error(`The issuer gave no token: ${JSON.stringify(answer)}`);
  return answer.access_token;
}

async function forge(url: string, key: SigningKey, claims: Record<string, unknown>): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const good = { iss: url, aud: AUDIENCE, sub: 'loader', iat: now, exp: now + 300, scope: 'kgrid.write' };
  return new SignJWT({ ...good, ...claims })
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: key.id })
    .sign(key.privateKey);
}

/** The provider warns on the terminal that its own defaults suit only tests. */
function quietly<T>(create: () => T): T {
  const { info, warn } = console;
  console.info = console.warn = () => undefined;
  try {
    return create();
  } finally {
    Object.assign(console, { info, warn });
  }
}
