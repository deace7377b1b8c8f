// Runs inside the isolate; see `platform.js`.
(function (kit) {
  'use strict';
  const { define, exception, part, report, timers } = kit;
  const { apply, defineProperty } = Reflect;
  const TypeErrorType = TypeError;
  const text = String;
  const number = Number;
  const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';
  const PHASES = { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 };

  class Event {
    #type;
    #bubbles;
    #cancelable;
    #composed;
    #timeStamp = part('crypto').performance.now();
    #isCanceled = false;
    #isStopped = false;
    #isPassive = false;
    #endsNow = false;
    #isDispatched = false;
    #target = null;
    #current = null;
    constructor(type, options = undefined) {
      if (arguments.length === 0) throw new TypeErrorType('An event needs a type');
      this.#type = text(type);
      this.#bubbles = Boolean(options?.bubbles);
      this.#cancelable = Boolean(options?.cancelable);
      this.#composed = Boolean(options?.composed);
    }
    get type() {
      return this.#type;
    }
    get bubbles() {
      return this.#bubbles;
    }
    get cancelable() {
      return this.#cancelable;
    }
    get composed() {
      return this.#composed;
    }
    get timeStamp() {
      return this.#timeStamp;
    }
    get isTrusted() {
      return false;
    }
    get target() {
      return this.#target;
    }
    get srcElement() {
      return this.#target;
    }
    get currentTarget() {
      return this.#current;
    }
    get eventPhase() {
      return this.#isDispatched ? PHASES.AT_TARGET : PHASES.NONE;
    }
    get defaultPrevented() {
      return this.#isCanceled;
    }
    get returnValue() {
      return !this.#isCanceled;
    }
    set returnValue(value) {
      if (!value) this.preventDefault();
    }
    get cancelBubble() {
      return this.#isStopped;
    }
    set cancelBubble(value) {
      if (value) this.#isStopped = true;
    }
    composedPath() {
      return this.#isDispatched ? [this.#current] : [];
    }
    preventDefault() {
      if (this.#cancelable && !this.#isPassive) this.#isCanceled = true;
    }
    stopPropagation() {
      this.#isStopped = true;
    }
    stopImmediatePropagation() {
      this.#isStopped = true;
      this.#endsNow = true;
    }
    static dispatch(event, target, listeners, remove) {
      if (event.#isDispatched) throw exception('The event is already being dispatched', 'InvalidStateError');
      event.#isDispatched = true;
      event.#target = target;
      event.#current = target;
      try {
        for (const listener of listeners) {
          if (event.#endsNow) break;
          if (listener.isRemoved) continue;
          if (listener.once) remove(listener);
          event.#isPassive = listener.passive;
          try {
            const { callback } = listener;
            if (typeof callback === 'function') apply(callback, target, [event]);
            else callback.handleEvent(event);
          } catch (thrown) {
            report(thrown);
          }
        }
      } finally {
        event.#isPassive = false;
        event.#isDispatched = false;
        event.#current = null;
        event.#isStopped = false;
        event.#endsNow = false;
      }
      return !event.#isCanceled;
    }
  }
  const { dispatch } = Event;
  delete Event.dispatch;
  for (const name of Object.keys(PHASES))
    for (const each of [Event, Event.prototype])
      defineProperty(each, name, { __proto__: null, value: PHASES[name], enumerable: true });
  define(Event.prototype, 'Event');

  class EventTarget {
    // By type, in the order in which they were added.
    #listeners = new Map();
    addEventListener(type, callback, options = undefined) {
      if (arguments.length < 2) throw new TypeErrorType('addEventListener needs a type and a listener');
      if (callback === null || callback === undefined) return;
      if (!isObject(callback)) throw new TypeErrorType('The listener must be a function or an object');
      const more = isObject(options) ? options : { capture: options };
      const { signal } = more;
      if (signal?.aborted) return;
      const key = text(type);
      const capture = Boolean(more.capture);
      let listeners = this.#listeners.get(key);
      if (listeners === undefined) this.#listeners.set(key, (listeners = new Set()));
      for (const each of listeners) if (each.callback === callback && each.capture === capture) return;
      const once = Boolean(more.once);
      listeners.add({ callback, capture, once, passive: Boolean(more.passive), isRemoved: false });
      signal?.addEventListener('abort', () => this.removeEventListener(key, callback, capture), { once: true });
    }
    removeEventListener(type, callback, options = undefined) {
      const listeners = this.#listeners.get(text(type));
      if (listeners === undefined) return;
      const capture = Boolean(isObject(options) ? options.capture : options);
      for (const each of listeners) {
        if (each.callback !== callback || each.capture !== capture) continue;
        each.isRemoved = true;
        listeners.delete(each);
        return;
      }
    }
    dispatchEvent(event) {
      if (!(event instanceof Event)) throw new TypeErrorType('What is dispatched must be an Event');
      const listeners = this.#listeners.get(event.type);
      return dispatch(event, this, listeners === undefined ? [] : [...listeners], (each) => {
        each.isRemoved = true;
        listeners.delete(each);
      });
    }
  }
  define(EventTarget.prototype, 'EventTarget');

  // Only what stands here can make a signal.
  const KEY = Symbol();
  class AbortSignal extends EventTarget {
    #isAborted = false;
    #reason;
    #onabort = null;
    // Signals that are aborted with this one.
    #dependent = new Set();
    constructor(key) {
      if (key !== KEY) throw new TypeErrorType('Illegal constructor');
      super();
    }
    get aborted() {
      return this.#isAborted;
    }
    get reason() {
      return this.#reason;
    }
    get onabort() {
      return this.#onabort;
    }
    set onabort(callback) {
      const before = this.#onabort;
      if (before !== null) this.removeEventListener('abort', before);
      this.#onabort = typeof callback === 'function' ? callback : null;
      if (this.#onabort !== null) this.addEventListener('abort', this.#onabort);
    }
    throwIfAborted() {
      if (this.#isAborted) throw this.#reason;
    }
    static abort(reason = undefined) {
      const signal = new AbortSignal(KEY);
      signal.#isAborted = true;
      signal.#reason = reason === undefined ? exception('This operation was aborted', 'AbortError') : reason;
      return signal;
    }
    static timeout(delay) {
      const milliseconds = number(delay);
      if (!(milliseconds >= 0) || milliseconds > Number.MAX_SAFE_INTEGER)
        throw new RangeError(`The delay must be milliseconds, not ${text(delay)}`);
      const signal = new AbortSignal(KEY);
      timers.add(
        () => raise(signal, exception('The operation was aborted due to timeout', 'TimeoutError')),
        milliseconds,
        false,
      );
      return signal;
    }
    static any(signals) {
      const all = [...signals];
      for (const each of all)
        if (!(each instanceof AbortSignal)) throw new TypeErrorType('AbortSignal.any takes signals');
      const signal = new AbortSignal(KEY);
      for (const each of all) {
        if (!each.#isAborted) continue;
        signal.#isAborted = true;
        signal.#reason = each.#reason;
        return signal;
      }
      for (const each of all) each.#dependent.add(signal);
      return signal;
    }
    static raise(signal, reason) {
      if (signal.#isAborted) return;
      const all = [signal];
      for (const each of signal.#dependent) if (!each.#isAborted) all.push(...withDependent(each));
      const why = reason === undefined ? exception('This operation was aborted', 'AbortError') : reason;
      for (const each of all) {
        each.#isAborted = true;
        each.#reason = why;
      }
      for (const each of all) each.dispatchEvent(new Event('abort'));
    }
    static dependentOf(signal) {
      return signal.#dependent;
    }
  }
  const { raise, dependentOf } = AbortSignal;
  delete AbortSignal.raise;
  delete AbortSignal.dependentOf;
  const withDependent = (signal) => [signal, ...[...dependentOf(signal)].flatMap(withDependent)];
  define(AbortSignal.prototype, 'AbortSignal');

  class AbortController {
    #signal = new AbortSignal(KEY);
    get signal() {
      return this.#signal;
    }
    abort(reason = undefined) {
      raise(this.#signal, reason);
    }
  }
  define(AbortController.prototype, 'AbortController');
  return { Event, EventTarget, AbortController, AbortSignal };
});
