/** Balancers before the nodes of a fleet, with the files of the folder deploy as they are. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROJECT } from '../../acceptance/support/service.ts';
import { debianProgram } from '../../support/debian-program.ts';
import { freePort, startHelper } from './helper-process.ts';

export interface Balancer extends AsyncDisposable {
  readonly url: string;
}

/** @param nodes urls of three. @param balance in place of what the file says. */
export async function startHaproxy(nodes: readonly string[], balance = 'leastconn'): Promise<Balancer> {
  const port = await freePort();
  const front = `127.0.0.1:${port}`;
  const addresses = Object.fromEntries(nodes.map((url, i) => [`KGRID_NODE_${i + 1}`, new URL(url).host]));
  const folder = mkdtempSync(join(tmpdir(), 'kgrid-haproxy-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const text = readFileSync(join(PROJECT, 'deploy/haproxy/haproxy.cfg'), 'utf8');
  writeFileSync(join(folder, 'haproxy.cfg'), text.replace('balance leastconn', `balance ${balance}`));
  try {
    const helper = await startHelper({
      command: debianProgram('haproxy'),
      args: ['-db', '-f', join(folder, 'haproxy.cfg')],
      env: { KGRID_FRONT: front, ...addresses },
      port,
    });
    return {
      url: `http://${front}`,
      async [Symbol.asyncDispose]() {
        await helper[Symbol.asyncDispose]();
        remove();
      },
    };
  } catch (thrown) {
    remove();
    throw thrown;
  }
}

/** Its file is included by a configuration that holds what Debian's has around it, with other addresses. */
export async function startNginx(nodes: readonly string[]): Promise<Balancer> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'kgrid-nginx-'));
  let servers = readFileSync(join(PROJECT, 'deploy/nginx/fleet.conf'), 'utf8').replace(
    'listen 8081;',
    `listen 127.0.0.1:${port};`,
  );
  nodes.forEach((url, i) => (servers = servers.replace(`node${i + 1}.example.org:8080`, new URL(url).host)));
  writeFileSync(join(folder, 'fleet.conf'), servers);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (what) => `${what}_temp_path ${folder}/${what};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/pid; error_log stderr error; worker_processes 1;
events { worker_connections 1024; }
http { access_log off; ${temporary.join(' ')} include ${folder}/fleet.conf; }`,
  );
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const command = debianProgram('nginx', 'nginx-light');
    const helper = await startHelper({ command, args: ['-c', join(folder, 'nginx.conf'), '-p', folder], port });
    return {
      url: `http://127.0.0.1:${port}`,
      async [Symbol.asyncDispose]() {
        await helper[Symbol.asyncDispose]();
        remove();
      },
    };
  } catch (thrown) {
    remove();
    throw thrown;
  }
}
