/**
 * Tries what walls keep, in the process that runs it, and prints what came of each as JSON: `done`, or the code of the
 * error. What it needs comes as its argument.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { connect, createServer } from 'node:net';
import { constants, setPriority, getPriority } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';

const given = JSON.parse(process.argv[2]);
const loaded = { exports: {} };
process.dlopen(loaded, given.koffi);
const koffi = loaded.exports;
const libc = koffi.load(null);
const raw = libc.func('long syscall(long, long, long, long, long, long, long)');
const text = libc.func('long syscall(long, long, const char *, long, long, long, long)');
const codeOf = (number) => Object.entries(constants.errno).find((each) => each[1] === number)?.[0] ?? String(number);

/** `done` as soon as the kernel takes it on, whatever it makes of the arguments. */
function call(name, ...args) {
  const number = given.calls[name];
  if (Number(raw(number, ...[...args, 0, 0, 0, 0, 0, 0].slice(0, 6))) >= 0) return 'done';
  const code = codeOf(koffi.errno());
  return code === 'EPERM' || code === 'ENOSYS' || code === 'EACCES' ? code : 'done';
}

const PR_SET_PDEATHSIG = 1;
const PR_SET_DUMPABLE = 4;
const EMPTY = -1;

const attempts = {
  'read a file of others': () => fs.readFileSync(given.secret),
  'list a folder of others': () => fs.readdirSync(given.outside),
  'write a file elsewhere': () => fs.writeFileSync(join(given.outside, 'written'), ''),
  'write into a file of others': () => fs.appendFileSync(given.secret, ''),
  'remove a file of others': () => fs.rmSync(given.removed),
  'rename a file of others': () => fs.renameSync(given.renamed, join(given.outside, 'other')),
  'link a file of others into its own folder': () => fs.linkSync(given.secret, join(given.scratch, 'linked')),
  'read through a link of its own': () => {
    fs.symlinkSync(given.secret, join(given.scratch, 'link'));
    fs.readFileSync(join(given.scratch, 'link'));
  },
  'read through its own root': () => fs.readFileSync(join('/proc/self/root', given.secret)),
  'shorten a file of others': () => fs.truncateSync(given.secret, 3),
  'read the environment of another process': () => fs.readFileSync(`/proc/${process.ppid}/environ`),
  'read the memory of another process': () => fs.openSync(`/proc/${process.ppid}/mem`, 'r'),
  'list processes': () => fs.readdirSync('/proc'),
  'change the mode of a file of others': () => {
    fs.chmodSync(given.secret, 0o600);
    if ((fs.statSync(given.secret).mode & 0o777) !== 0o600) fail('EPERM');
  },
  'change the owner of a file of others': () => fs.chownSync(given.secret, process.getuid(), process.getgid()),
  'change the times of a file of others': () => {
    fs.utimesSync(given.secret, 1, 1);
    if (fs.statSync(given.secret).mtimeMs !== 1000) fail('EPERM');
  },
  'change the attributes of a file of others': () =>
    Number(text(given.calls.removexattr, 0, '', 0, 0, 0, 0)) < 0 && codeOf(koffi.errno()) === 'EPERM' && fail('EPERM'),
  'run a program': () => throwing(spawnSync('/bin/true', { env: {} }).error),
  'become a program': () => call('execve', EMPTY, 0, 0),
  'become a program that is open': () => call('execveat', EMPTY, 0, 0),
  'signal another process': () => process.kill(process.ppid, 0),
  'change the priority of another process': () => setPriority(process.ppid, getPriority(process.ppid)),
  'change the limits of another process': () => call('prlimit64', process.ppid, 7),
  'listen to TCP': () => listening({ port: 0, host: '127.0.0.1' }),
  'listen to a unix socket': () => listening({ path: join(given.scratch, 'own.sock') }),
  'connect by TCP': () => connected({ port: given.port, host: '127.0.0.1' }),
  'connect to a unix socket': () => connected({ path: given.socket }),
  'connect to an abstract socket': () => connected({ path: given.abstract }),
  'make a socket of datagrams': () => call('socket', 2, 2, 0),
  'make a pair of datagram sockets': () => call('socketpair', 1, 2, 0, EMPTY),
  'make a raw socket': () => call('socket', 2, 3, 1),
  'make a netlink socket': () => call('socket', 16, 3, 0),
  'make a socket of packets': () => call('socket', 17, 3, 0),
  'trace another process': () => call('ptrace', 1, 0),
  'read memory by number': () => call('process_vm_readv', process.ppid),
  'write memory by number': () => call('process_vm_writev', process.ppid),
  'compare with another process': () => call('kcmp', process.pid, process.ppid),
  'take a descriptor of another process': () => call('pidfd_getfd', EMPTY, 0),
  'load a program into the kernel': () => call('bpf', 0, 0, 0),
  'measure the kernel': () => call('perf_event_open', 0, 0, 0, 0, 0),
  'handle faults of memory': () => call('userfaultfd', 0),
  'use io_uring': () => call('io_uring_setup', 0, 0),
  'keep keys': () => call('keyctl', 0, EMPTY),
  'add a key': () => call('add_key', 0, 0),
  'ask for a key': () => call('request_key', 0, 0),
  mount: () => call('mount', 0, 0, 0, 0),
  unmount: () => call('umount2', 0),
  'open a tree of mounts': () => call('open_tree', EMPTY, 0, 0),
  'make a file system': () => call('fsopen', 0, 0),
  'change its root': () => call('chroot', 0),
  'leave namespaces': () => call('unshare', 0),
  'enter a namespace': () => call('setns', EMPTY, 0),
  'make a namespace': () => call('clone', 0x10000000 | 0x200),
  'load a kernel': () => call('kexec_load', 0, 0, 0, EMPTY),
  'load a module': () => call('finit_module', EMPTY, 0, 0),
  'start anew': () => call('reboot', 0, 0, 0, 0),
  'swap memory': () => call('swapoff', 0),
  'leave its group': () => call('setpgid', 0, 0),
  'leave its session': () => call('setsid'),
  'watch files': () => call('inotify_init1', 0),
  'watch a file system': () => call('fanotify_init', 0, 0),
  'open a file by its handle': () => call('open_by_handle_at', EMPTY, 0, 0),
  'share memory with processes of the user': () => call('shmat', EMPTY, 0, 0),
  'make a queue': () => call('msgctl', EMPTY, 0, 0),
  'make memory that is a file': () => call('memfd_create', 0, 0),
  'turn off its death': () => call('prctl', PR_SET_PDEATHSIG, 0),
  'be dumpable': () => call('prctl', PR_SET_DUMPABLE, 1),
  'send signals by a descriptor': () => call('fcntl', 0, 8, 0),
  'make the disks write': () => call('syncfs', EMPTY),
  'make a process': () => call('clone', 0x800),
  'be another user': () => call('setuid', process.getuid()),
};

function fail(code) {
  throw Object.assign(new Error(code), { code });
}

function throwing(error) {
  if (error) throw error;
}

async function listening(where) {
  const server = createServer();
  server.listen(where);
  await once(server, 'listening');
  server.close();
}

async function connected(where) {
  const socket = connect(where);
  await once(socket, 'connect');
  socket.destroy();
}

const outcomes = {};
for (const [name, attempt] of Object.entries(attempts)) {
  if (given.only !== undefined && !given.only.includes(name)) continue;
  try {
    const result = await attempt();
    outcomes[name] = typeof result === 'string' && /^E[A-Z]+$/.test(result) ? result : 'done';
  } catch (thrown) {
    outcomes[name] = thrown.code ?? String(thrown);
  }
}
process.stdout.write(JSON.stringify(outcomes));
