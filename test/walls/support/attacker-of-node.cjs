// All that a knowledge object in node can do by what Node gives it: tries each, and says which got through.
const { execFileSync } = require('node:child_process');
const dgram = require('node:dgram');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const { Worker } = require('node:worker_threads');

const happens = (emitter, event) =>
  new Promise((resolve, reject) => {
    emitter.once('error', reject);
    emitter.once(event, resolve);
  });
const connect = async (options) => {
  const socket = net.connect(options);
  await happens(socket, 'connect');
  socket.destroy();
};
const listen = async (options) => {
  const server = net.createServer();
  server.listen(options);
  await happens(server, 'listening');
  server.close();
};
const contains = (path, text) => {
  if (!fs.readFileSync(path, 'utf8').includes(text)) throw new Error('it is not in it');
};

const attempts = {
  'a file of the shelf': ({ stored, marker }) => contains(stored, marker),
  'the list of the shelf': ({ shelf }) => fs.readdirSync(shelf),
  'a file of another knowledge object': ({ other, marker }) => contains(other, marker),
  'the file with the password': ({ password, marker }) => contains(password, marker),
  'the accounts of the machine': () => contains('/etc/passwd', 'root:'),
  'the environment of the activator': ({ activator }) => fs.readFileSync(`/proc/${activator}/environ`),
  'the memory of the activator': ({ activator }) => fs.openSync(`/proc/${activator}/mem`),
  'the list of processes': () => fs.readdirSync('/proc'),
  'a new file on the shelf': ({ shelf }) => fs.writeFileSync(`${shelf}/new`, ''),
  'a new file in /dev/shm': ({ unique }) => fs.writeFileSync(`/dev/shm/${unique}`, ''),
  'a new file where the user may write': ({ free }) => fs.writeFileSync(`${free}/new`, ''),
  'the file of a diagnostic report': ({ free }) => {
    const said = process.report.writeReport(`${free}/report`);
    if (!fs.existsSync(said)) throw new Error('it is not there');
  },
  'a link out of its folder': ({ stored, marker, unique }) => {
    const link = `${os.tmpdir()}/${unique}`;
    fs.symlinkSync(stored, link);
    contains(link, marker);
  },
  'a program': () => execFileSync('/bin/true'),
  'a thread of its own': async () => {
    const thread = new Worker('', { eval: true });
    await happens(thread, 'exit');
  },
  'a signal to the activator': ({ activator }) => process.kill(activator, 0),
  'the priority of the activator': ({ activator }) => os.setPriority(activator, os.getPriority(activator)),
  'a connection to the activator': ({ tcp }) => connect({ port: tcp, host: '127.0.0.1' }),
  'a socket in the file system': ({ unix }) => connect({ path: unix }),
  'an abstract socket': ({ abstract }) => connect({ path: `\0${abstract}` }),
  'a port that listens': () => listen({ port: 0, host: '127.0.0.1' }),
  'a datagram': async ({ udp }) => {
    const socket = dgram.createSocket('udp4');
    await new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.send('x', udp, '127.0.0.1', (error) => (error ? reject(error) : resolve()));
    });
    socket.close();
  },
  'a native addon': ({ koffi }) => process.dlopen({ exports: {} }, koffi),
};

module.exports = async (target) => {
  if (target.where) return { file: __filename, program: __filename, scratch: os.tmpdir() };
  const outcomes = {};
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      await attempt(target);
      outcomes[name] = true;
    } catch (thrown) {
      outcomes[name] = String(thrown?.code ?? thrown);
    }
  }
  return outcomes;
};
if (require.main === module)
  module.exports(JSON.parse(process.argv[2])).then((outcomes) => console.log(JSON.stringify(outcomes)));
