/** Runs an attempt: system calls, one after the other, as `steps.ts` writes them, from a process that a fault of V8 has opened. */
const SHOWS_NOTHING = -10000;
const KILLED = -1000;
const ARGUMENTS = 6;

/** @param path of the native part of koffi, all that is needed of it, which a process in walls may not read later. */
export function attemptsBy(path) {
  const loaded = { exports: {} };
  process.dlopen(loaded, path);
  const koffi = loaded.exports;
  const libc = koffi.load(null);
  const syscall = libc.func(`int64_t syscall(int64_t nr${', int64_t'.repeat(ARGUMENTS)})`);
  const malloc = libc.func('intptr_t malloc(size_t size)');
  const put = libc.func('memcpy', 'void *', ['intptr_t', 'const uint8_t *', 'size_t']);
  const get = libc.func('memcpy', 'void *', [koffi.out('uint8_t *'), 'intptr_t', 'size_t']);
  const waitpid = libc.func('int waitpid(int pid, intptr_t status, int options)');
  const procedure = koffi.proto('int64_t code()');

  const memory = (content) => {
    const address = Number(malloc(Math.max(8, content.length)));
    put(address, content, content.length);
    return address;
  };
  /** Made before the walls may refuse it; a process in them has such pages anyway, of V8. */
  const page = Number(syscall(...(process.arch === 'x64' ? [9] : [222]), 0, 4096, 7, 0x22, -1, 0));
  const execute = (content) => {
    put(page, content, content.length);
    return Number(koffi.call(page, procedure));
  };

  class Way {
    results = [];
    rooms = [];
    named = new Map();

    number(arg) {
      if (typeof arg === 'number') return arg;
      if (typeof arg === 'string') return memory(Buffer.from(`${arg}\0`));
      if ('kept' in arg) {
        if (!this.named.has(arg.kept)) this.named.set(arg.kept, memory(Buffer.from(arg.content, 'hex')));
        return this.named.get(arg.kept);
      }
      if ('bytes' in arg) return memory(Buffer.from(arg.bytes, 'hex'));
      if ('room' in arg) {
        this.rooms.push([memory(Buffer.alloc(arg.room)), arg.room]);
        return this.rooms.at(-1)[0];
      }
      if ('words' in arg) {
        const words = Buffer.alloc(8 * arg.words.length);
        arg.words.forEach((each, i) => words.writeBigInt64LE(BigInt(this.number(each)), 8 * i));
        return memory(words);
      }
      return this.results[arg.of];
    }

    enter({ nr, args }) {
      const numbers = args.map((each) => this.number(each));
      return Number(syscall(nr, ...numbers, ...Array(ARGUMENTS - numbers.length).fill(0)));
    }

    call(step) {
      this.rooms = [];
      const result = this.enter(step);
      if (result < 0) return (step.passes ?? []).includes(koffi.errno()) ? 0 : -koffi.errno();
      const isShown = ([address, size]) => {
        const content = Buffer.alloc(size);
        get(content, address, size);
        if (typeof step.shows === 'string') return content.includes(step.shows);
        return content.subarray(step.shows.at).toString('hex').startsWith(step.shows.bytes);
      };
      return step.shows !== undefined && !this.rooms.some(isShown) ? SHOWS_NOTHING : result;
    }

    child(step) {
      const rows = [step, ...step.child].map(({ nr, args }) => {
        const numbers = args.map((each) => this.number(each));
        return [nr, ...numbers, ...Array(ARGUMENTS - numbers.length).fill(0)];
      });
      const table = memory(Buffer.from(BigInt64Array.from(rows.flat(), BigInt).buffer));
      const pid = execute(childCode(table, step.child.length));
      if (pid < 0 || step.wait === false) return pid;
      const status = memory(Buffer.alloc(4));
      waitpid(pid, status, 0);
      const content = Buffer.alloc(4);
      get(content, status, 4);
      const value = content.readInt32LE();
      return (value & 0x7f) !== 0 ? KILLED - (value & 0x7f) : -((value >> 8) & 0xff);
    }

    code(step) {
      return execute(Buffer.from(step.code, 'hex'));
    }

    run(steps) {
      for (const step of steps) {
        let result = 0;
        for (let i = 0; i < (step.repeat ?? 1) && result >= 0; i++)
          result = 'code' in step ? this.code(step) : 'child' in step ? this.child(step) : this.call(step);
        this.results.push(result);
        if (result < 0) return result;
      }
      return 0;
    }
  }

  return (ways) => {
    const tried = [];
    for (const steps of ways) {
      const way = new Way();
      tried.push(way.results);
      if (way.run(steps) === 0) return { through: true, tried };
    }
    return { through: false, tried };
  };
}

/**
 * A forked child cannot run JavaScript, since V8 keeps its code from children: it makes its calls by itself. Of x86-64:
 * enters the first row of the table; its child enters the others and ends with 0 or the number of the first error.
 */
function childCode(table, count) {
  if (process.arch !== 'x64') throw new Error('children of node are written for x86-64 only');
  const code = Buffer.from(CHILD_CODE, 'hex');
  code.writeBigInt64LE(BigInt(table), 6);
  code.writeBigInt64LE(BigInt(count), 16);
  return code;
}

const CHILD_CODE =
  '5355415448bb000000000000000049bc0000000000000000e8330000004885c075294d85e474134883c338e8200000004885c0780949ffccebe831ff' +
  'eb0648f7d84889c7b8e70000000f05415c5d5bc3488b03488b7b08488b7310488b53184c8b53204c8b43284c8b4b300f05c3';
