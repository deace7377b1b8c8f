/** What of Python's `multiprocessing` needs no process works behind walls, and the rest says the true reason. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findKernel } from '../../confinement/find-kernel.ts';
import { networkedPool } from '../../../test/support/supervisor/networked-pool.ts';

const CODE = `
import concurrent.futures, getpass, multiprocessing, multiprocessing.pool, os, subprocess, threading
from multiprocessing import shared_memory

def square(n):
    return n * n

def run(what):
    if what == "threads":
        with multiprocessing.pool.ThreadPool(4) as pool:
            return pool.map(square, range(5))
    if what == "lock":
        lock, held = multiprocessing.Lock(), []
        with lock:
            other = threading.Thread(target=lambda: held.append(lock.acquire(timeout=0.01)))
            other.start()
            other.join()
        return [held, lock.acquire(False), lock.release()]
    if what == "recursive":
        lock = multiprocessing.RLock()
        with lock, lock:
            return lock.acquire()
    if what == "too often":
        multiprocessing.BoundedSemaphore(2).release()
    if what == "queue":
        queue = multiprocessing.Queue()
        queue.put({"a": 1})
        return queue.get(timeout=20)
    if what == "event":
        event = multiprocessing.Event()
        threading.Timer(0.01, event.set).start()
        return event.wait(20)
    if what == "value":
        value = multiprocessing.Value("i", 3)
        with value.get_lock():
            value.value += 1
        return value.value
    if what == "executor":
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            return list(pool.map(square, range(5)))
    if what == "pool":
        with multiprocessing.Pool(2) as pool:
            return pool.map(square, range(5))
    if what == "process":
        process = multiprocessing.Process(target=square, args=(1,))
        process.start()
    if what == "program":
        subprocess.run(["/bin/echo"])
    if what == "fork":
        os.fork()
    if what == "system":
        return os.system("true")
    if what == "spawn":
        os.posix_spawn("/bin/true", ["true"], {})
    if what == "shared memory":
        shared_memory.SharedMemory(create=True, size=8)
    if what == "user":
        return getpass.getuser()
`;
const WORKS = {
  ...{ threads: [0, 1, 4, 9, 16], lock: [[false], true, null], recursive: true },
  ...{ queue: { a: 1 }, event: true, value: 4, user: 'kgrid' },
};
const REASON =
  /^PermissionError: \[Errno 1\] processes cannot be started here; use threads, such as those of multiprocessing\.pool\.ThreadPool$/;

test('locks, queues and thread pools work, and processes are refused with the reason', async () => {
  await using networked = await networkedPool({ engine: 'python', kernel: await findKernel('require') });
  const endpoint = await networked.define('naan/several/v1', CODE);
  for (const [what, result] of Object.entries(WORKS)) assert.deepEqual(await endpoint.call(what), result, what);
  assert.match(String(await endpoint.call('too often')), /^ValueError: semaphore or lock released too many times/);
  for (const what of ['executor', 'pool', 'process', 'program', 'fork', 'system', 'spawn'])
    assert.match(String(await endpoint.call(what)), REASON, what);
  assert.match(
    String(await endpoint.call('shared memory')),
    /^PermissionError: \[Errno 13\] shared memory cannot be opened here, .*threads share all objects/,
  );
});
