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

/** Before the nodes of a fleet. */
export async function startNginx(nodes: readonly string[]): Promise<Balancer> {
  const port = await freePort();
  const addresses = nodes.map((url, i): [string, string] => [`node${i + 1}.example.org:8080`, new URL(url).host]);
  return runNginx('fleet.conf', port, [['listen 8081;', `listen 127.0.0.1:${port};`], ...addresses], 'http');
}

/** Before one service, with the certificate of the tests. */
export async function startNginxWithTls(service: string): Promise<Balancer> {
  const port = await freePort();
  const certificate = '/etc/nginx/kgrid.example.org';
  const tls = join(PROJECT, 'test/support/tls/localhost');
  const replaced: [string, string][] = [
    ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
    ['127.0.0.1:8080', new URL(service).host],
    [`${certificate}.pem`, `${tls}.pem`],
    [`${certificate}.key`, `${tls}.key`],
  ];
  return runNginx('kgrid.conf', port, replaced, 'https');
}

/** Its file is included by a configuration that holds what Debian's has around it, with other addresses. */
async function runNginx(
  file: string,
  port: number,
  replaced: readonly (readonly [string, string])[],
  scheme: string,
): Promise<Balancer> {
  const folder = mkdtempSync(join(tmpdir(), 'kgrid-nginx-'));
  const text = readFileSync(join(PROJECT, 'deploy/nginx', file), 'utf8');
  writeFileSync(
    join(folder, file),
    replaced.reduce((all, [from, to]) => {
      if (!all.includes(from)) throw new Error(`deploy/nginx/${file} has no ${from}`);
      return all.replace(from, to);
    }, text),
  );
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (what) => `${what}_temp_path ${folder}/${what};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/pid; error_log stderr error; worker_processes 1;
events { worker_connections 1024; }
http { access_log off; ${temporary.join(' ')} include ${folder}/${file}; }`,
  );
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const command = debianProgram('nginx', 'nginx-light');
    const helper = await startHelper({ command, args: ['-c', join(folder, 'nginx.conf'), '-p', folder], port });
    return {
      url: `${scheme}://localhost:${port}`,
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
