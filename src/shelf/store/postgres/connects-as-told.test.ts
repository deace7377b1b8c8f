import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { kgrid } from '../../../../test/cli/kgrid.ts';
import { put } from '../../../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../../../test/conformance/temporary-folder.ts';
import { testDatabase } from '../../../../test/support/postgres/shared.ts';
import { openShelf } from '../../stores.ts';
import { parseLocation } from './location.ts';
import { passwordIn, type PasswordSources } from './connection.ts';
import { PostgresDatabase } from './postgres-database.ts';

const shared = await testDatabase();
await shared.run(`DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'locked') THEN CREATE ROLE locked LOGIN PASSWORD 'right:pass'; END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tls') THEN CREATE ROLE tls LOGIN; END IF;
END $$`);
after(() => shared[Symbol.asyncDispose]());
const AUTHORITY = join(import.meta.dirname, '../../../../test/support/tls/authority.pem');

async function asked(url: string, passwords: PasswordSources = {}): Promise<Record<string, unknown> | undefined> {
  await using database = new PostgresDatabase(url, { fleet: 'kgrid', passwords });
  const sql = 'SELECT current_user::text AS user, (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS tls';
  return (await database.query(sql)).rows[0];
}
const at = (user: string, more = '', host = '127.0.0.1'): string =>
  `postgres://${user}@${host}:${String(shared.port)}/${shared.name}${more}`;

test('the password comes from the file, the URL, PGPASSWORD or the password file of PostgreSQL', async () => {
  await using folder = await temporaryFolder();
  const pgpass = join(folder.path, 'pgpass');
  await writeFile(pgpass, `# mine\nother:*:*:*:wrong\n127.0.0.1:*:${shared.name}:locked:right\\:pass\n`, {
    mode: 0o600,
  });
  const right = { user: 'locked', tls: true };
  assert.deepEqual(await asked(at('locked', '?password=wrong'), { file: () => 'right:pass' }), right);
  assert.deepEqual(await asked(at('locked:right%3Apass'), { environment: { PGPASSWORD: 'wrong' } }), right);
  assert.deepEqual(await asked(at('locked'), { environment: { PGPASSWORD: 'right:pass' } }), right);
  assert.deepEqual(await asked(at('locked'), { environment: { PGPASSFILE: pgpass } }), right);
  await chmod(pgpass, 0o644);
  const none = { fault: 'credentials', message: /the server asks for a password, and none is given/ };
  await assert.rejects(asked(at('locked'), { environment: { PGPASSFILE: pgpass } }), none, 'others may read it');
  await assert.rejects(asked(at('locked')), none);
  await assert.rejects(asked(at('locked:wrong')), { fault: 'credentials', sqlState: '28P01' });
  await assert.rejects(asked(at('nobody.such')), { fault: 'credentials', sqlState: '28000' });
});

test('a command that copies a shelf reads the password from its file, and says what is wrong with that', async () => {
  await using folder = await temporaryFolder();
  await shared.run(`GRANT CREATE ON DATABASE ${shared.name} TO locked`);
  const file = join(folder.path, 'password');
  await writeFile(file, 'right:pass\n');
  const env = { XDG_CACHE_HOME: folder.path, PGPASSWORD: 'wrong' };
  const copied = async (from: string, to: string, ...more: string[]): Promise<[number | null, string]> => {
    const { code, stdout, stderr } = await kgrid(['shelf', 'copy', from, to, ...more], { env });
    return [code, (stderr + stdout).trim().split('\n').at(-1) ?? ''];
  };
  const [filled, copy, database] = [join(folder.path, 'from'), join(folder.path, 'to'), at('locked')];
  {
    await using from = await openShelf(filled);
    await put(from, 'a/b/v1');
  }
  const option = ['--shelf-password-file', file];
  const to = [database, '--to-fleet', 'copied'] as const;
  const [refused, why] = await copied(filled, ...to);
  assert.equal(refused, 3);
  assert.match(why, /refuses the login/);
  const done = '1 knowledge object copied, 0 there already, 0 failed';
  assert.deepEqual(await copied(filled, ...to, ...option), [0, done]);
  assert.deepEqual(await copied(database, copy, '--from-fleet', 'copied', ...option), [0, done]);
  const [missing, said] = await copied(filled, ...to, '--shelf-password-file', join(folder.path, 'none'));
  assert.equal(missing, 3);
  assert.match(said, /--shelf-password-file names .*none, which cannot be read \(ENOENT\)/);
  const [useless, words] = await copied(filled, copy, ...option);
  assert.equal(useless, 2);
  assert.match(words, /neither shelf is one: leave it out/);
});

test('the first line of a password file that fits counts', () => {
  const at = (text: string): string | undefined =>
    passwordIn(text, { host: 'db', port: 5432 }, { database: 'd', user: 'u' });
  assert.equal(at('db:5432:d:u:one\n*:*:*:*:two'), 'one');
  assert.equal(at('db:5433:d:u:one\r\n*:*:*:*:t\\\\w\\:o\r\n'), 't\\w:o');
  assert.equal(at('db:5432:d:u\n\n::::\n'), undefined);
});

test('TLS is used, and checked, as sslmode says', async () => {
  const ca = `&sslrootcert=${encodeURIComponent(AUTHORITY)}`;
  const tls = async (url: string): Promise<unknown> => (await asked(url))?.['tls'];
  assert.equal(await tls(at('kgrid', '?sslmode=disable')), false);
  assert.equal(await tls(at('kgrid', '?sslmode=allow')), false);
  assert.equal(await tls(at('tls', '?sslmode=allow')), true, 'the server wants it');
  assert.equal(await tls(at('kgrid')), true, 'prefer is the default');
  assert.equal(await tls(at('kgrid', '?sslmode=require')), true);
  assert.equal(await tls(at('kgrid', `?sslmode=verify-full${ca}`, 'localhost')), true);
  assert.equal(
    await tls(`postgres:///${shared.name}?user=kgrid&host=${shared.folder}&port=${String(shared.port)}`),
    false,
  );
  await assert.rejects(asked(at('tls', '?sslmode=disable')), { fault: 'credentials' });
  await assert.rejects(asked(at('kgrid', '?sslmode=verify-full&sslrootcert=system')), { fault: 'tls' });
  await assert.rejects(asked(at('kgrid', '?sslmode=require&sslrootcert=/nowhere.pem')), {
    fault: 'tls',
    message: /nowhere.pem, which cannot be used: ENOENT/,
  });
  await assert.rejects(
    asked(at('kgrid', `?sslmode=verify-full&sslrootcert=${encodeURIComponent(import.meta.filename)}`)),
    {
      fault: 'tls',
      message: /connects-as-told.test.ts, which cannot be used: it holds nothing in the form PEM/,
    },
  );
  assert.equal(await tls(at('kgrid', `?sslmode=verify-ca${ca}`, '127.0.0.2')), true, 'whatever its name is');
  await assert.rejects(asked(at('kgrid', `?sslmode=verify-full${ca}`, '127.0.0.2')), {
    fault: 'tls',
    message: /does not match certificate/,
  });
});

test('what is wrong is told apart', async () => {
  await assert.rejects(asked(`postgres://kgrid@127.0.0.1:${String(shared.port)}/no_such`), {
    fault: 'database',
    sqlState: '3D000',
  });
  await assert.rejects(asked('postgres://kgrid@127.0.0.1:1/x'), { fault: 'unreachable', message: /ECONNREFUSED/ });
  await assert.rejects(asked('postgres://kgrid@no-such-host.invalid/x'), { fault: 'unreachable' });
  await assert.rejects(asked(`postgres:///x?host=/nowhere`), { fault: 'unreachable', message: /ENOENT/ });
});

test('a location that is none is refused without repeating it', () => {
  for (const [location, why] of Object.entries({
    'postgres:secret': /no address of a database/,
    'postgres://u:secret@h:99999/d': /a port in it/,
    'postgres://u:secret@h:x/d': /a host in it, or its port, is none/,
    'postgres://u:secret@h/d?sslmode=secret': /sslmode must be one of disable, allow/,
    'postgres://u:secret@h/d?options=-csecret': /has a parameter "options"; known are host/,
    'postgres://u:secret@h/d?sslmode=verify-full': /needs sslrootcert/,
    'postgres://u:secret@h/d?sslrootcert=system&sslmode=require': /needs sslmode=verify-full/,
    'postgres://u:secret@h/d?sslcert=a': /belong together/,
    'postgres://u:secret@h/d?connect_timeout=0': /1 to 300 seconds/,
    'postgres://u:secret@h/d?target_session_attrs=standby': /an activator writes/,
    'postgres://u:%zzsecret@h/d': /%25/,
    'postgres://u:secret@h/d%00': /code 0/,
  }))
    assert.throws(
      () => parseLocation(location),
      ({ code, message }: { code: string; message: string }) =>
        code === 'start-refused' && why.test(message) && !message.includes('secret'),
      location,
    );
});

test('a location says hosts, ports and names as PostgreSQL words them, and shows itself without the password', () => {
  const { hosts, user, database, label, password } = parseLocation(
    'postgresql://u%40x:p%2F%3A@h1,[2001:db8::1]:6000,h3:1/d%2F1',
  );
  assert.deepEqual(hosts, [
    { host: 'h1', port: 5432 },
    { host: '2001:db8::1', port: 6000 },
    { host: 'h3', port: 1 },
  ]);
  assert.deepEqual([user, database, password?.reveal()], ['u@x', 'd/1', 'p/:']);
  assert.equal(label, 'postgres://u%40x@h1:5432,[2001:db8::1]:6000,h3:1/d%2F1');
  assert.deepEqual(parseLocation('postgres:///d?host=a,/run/x&port=1,2').hosts, [
    { host: 'a', port: 1 },
    { host: '/run/x', port: 2 },
  ]);
  const short = parseLocation('postgres://h', 'me');
  assert.deepEqual([short.user, short.database, short.hosts], ['me', 'me', [{ host: 'h', port: 5432 }]]);
  assert.ok(!JSON.stringify(parseLocation('postgres://u:hidden@h/d')).includes('hidden'));
});
