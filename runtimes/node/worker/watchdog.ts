/** The thread beside the main one: ends the process when the runtime is gone, and seals the worker when asked to. */
import { Socket } from 'node:net';
import { workerData } from 'node:worker_threads';
import { frame } from '../../../src/engines/supervisor/frames.ts';
import { kinds } from '../../../src/engines/supervisor/messages.ts';
import { controlPipe, Shared } from './shared.ts';

const shared = new Shared(workerData as SharedArrayBuffer);
const control = new Socket({ fd: controlPipe });

control.on('data', () => {
  const last = shared.seal();
  const answers = shared.take();
  if (answers) control.write(answers);
  control.write(frame(kinds.drain, last, 0, ''));
});
control.on('error', () => undefined);
control.on('close', () => process.kill(process.pid, 'SIGKILL'));
