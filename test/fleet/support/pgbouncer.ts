/** Debian's pgbouncer in transaction mode before a server of the tests. */
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { debianProgram } from '../../support/debian-program.ts';
import { freePort, nobody, startHelper } from './helper-process.ts';

export interface Pgbouncer extends AsyncDisposable {
  readonly port: number;
}

export async function startPgbouncer(serverPort: number): Promise<Pgbouncer> {
  const command = debianProgram('pgbouncer');
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'kgrid-pgbouncer-'));
  writeFileSync(join(folder, 'users'), '"kgrid" ""\n');
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
* = host=127.0.0.1 port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${folder}/users
pool_mode = transaction
default_pool_size = 5
max_client_conn = 200
`,
  );
  if (process.getuid?.() === 0)
    for (const each of ['', 'users', 'pgbouncer.ini']) chownSync(join(folder, each), nobody().uid, nobody().gid);
  const helper = await startHelper({ command, args: [join(folder, 'pgbouncer.ini')], port, neverRoot: true });
  return {
    port,
    async [Symbol.asyncDispose]() {
      await helper[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
