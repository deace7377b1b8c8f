// Runs inside the isolate before `guest.js`: timers without a clock. When nothing else is left to do, the host lets the
// next one fire at once, in the order of their times. Those of one call are dropped with it.
const makeTimers = function (report) {
  'use strict';
  const { apply } = Reflect;
  const { slice } = Array.prototype;
  const TypeErrorType = TypeError;
  const number = Number;
  const MOST_DELAY = 2 ** 31 - 1;
  // A heap: the timer that is due next stands at 1. Objects without a prototype, which no code can give setters.
  let heap = { __proto__: null };
  let count = 0;
  let active = { __proto__: null };
  let now = 0;
  let sequence = 0;
  let used = false;

  const isBefore = (a, b) => a.due < b.due || (a.due === b.due && a.order < b.order);
  const push = (timer) => {
    let at = ++count;
    for (; at > 1 && isBefore(timer, heap[at >> 1]); at >>= 1) heap[at] = heap[at >> 1];
    heap[at] = timer;
  };
  const pop = () => {
    const first = heap[1];
    const last = heap[count];
    delete heap[count--];
    if (count === 0) return first;
    let at = 1;
    for (;;) {
      let next = at * 2;
      if (next < count && isBefore(heap[next + 1], heap[next])) next++;
      if (next > count || !isBefore(heap[next], last)) break;
      heap[at] = heap[next];
      at = next;
    }
    heap[at] = last;
    return first;
  };

  const add = (run, delay, repeats) => {
    used = true;
    const given = number(delay);
    const wait = given >= 1 && given <= MOST_DELAY ? given : 1;
    const id = ++sequence;
    const timer = { __proto__: null, id, run, wait, repeats, due: now + wait, order: id };
    active[id] = timer;
    push(timer);
    return id;
  };
  const adder = (name, repeats) =>
    ({
      [name](callback, delay) {
        if (typeof callback !== 'function') throw new TypeErrorType(`The callback of ${name} must be a function`);
        const given = apply(slice, arguments, [2]);
        return add(() => apply(callback, globalThis, given), delay, repeats);
      },
    })[name];
  const clear = (id) => {
    if (typeof id === 'number' || typeof id === 'string') delete active[id];
  };

  return {
    globals: {
      setTimeout: adder('setTimeout', false),
      setInterval: adder('setInterval', true),
      clearTimeout: function clearTimeout(id) {
        clear(id);
      },
      clearInterval: function clearInterval(id) {
        clear(id);
      },
      queueMicrotask: function queueMicrotask(callback) {
        if (typeof callback !== 'function')
          throw new TypeErrorType('The callback of queueMicrotask must be a function');
        used = true;
        (async () => {
          await undefined;
          try {
            callback();
          } catch (thrown) {
            report(thrown);
          }
        })();
      },
    },
    add,
    clear,
    // Whether the code has ever asked for something that runs later.
    get used() {
      return used;
    },
    // Lets the next timer fire; false where there is none.
    fire() {
      while (count > 0) {
        const timer = pop();
        if (active[timer.id] !== timer) continue;
        now = timer.due;
        if (!timer.repeats) delete active[timer.id];
        try {
          timer.run();
        } catch (thrown) {
          report(thrown);
        }
        if (timer.repeats && active[timer.id] === timer) {
          timer.due = now + timer.wait;
          timer.order = ++sequence;
          push(timer);
        }
        return true;
      }
      return false;
    },
    drop() {
      now = 0;
      if (count === 0) return;
      heap = { __proto__: null };
      active = { __proto__: null };
      count = 0;
    },
  };
};
