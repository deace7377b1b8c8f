/** Ways out of other sandboxes. Each gives what it found; nothing of the host is among it. */
import type { HostileCase } from '../support/hostile-case.ts';

/** `got(f)`: what `f` gives, or nothing where it fails or gives nothing. */
const TOP = `
  const got = (f) => { try { const v = f(); return v === undefined || v === null ? "nothing" : String(v); } catch { return "nothing"; } };
  const hosts = [() => process, () => require("fs"), () => Buffer, () => setImmediate,
    () => fetch, () => navigator, () => WebAssembly, () => SharedArrayBuffer, () => Atomics, () => Deno, () => ivm,
    () => XMLHttpRequest, () => window, () => document];`;

/** Two artifacts, so that `require` is there. */
const PARTS = {
  deployment: { artifact: ['src/index.js', 'src/other.js'], entry: 'src/index.js' },
  files: { 'src/other.js': 'module.exports = 1;' },
};

const nothing = (name: string, body: string): HostileCase => ({
  name,
  top: TOP,
  body,
  outcome: { is: 'nothing' },
  parts: PARTS,
});

/** A stack may show the code itself, but no file of the host. */
const stackOf = (name: string, action: string): HostileCase => ({
  name: `the stack of an error: ${name}`,
  body: `try { ${action}; return "no error"; } catch (e) {
    const seen = [e.stack, e.message, ...Object.getOwnPropertyNames(e).map((k) => e[k])].join().replaceAll("src/index.js", "");
    return /[\\w.-]+\\.(ts|mjs|node)\\b|node:|file:|node_modules|[\\\\/](home|tmp|usr|work|root)\\b/.exec(seen)?.[0] ?? "clean"; }`,
  outcome: { is: 'clean' },
  parts: PARTS,
});

export const escapes: readonly HostileCase[] = [
  nothing('names of hosts', 'return hosts.map(got).find((v) => v !== "nothing") ?? "nothing";'),
  nothing('the constructor of the constructor', 'return got(() => this.constructor.constructor("return process")());'),
  nothing('the constructor of getExecutor', 'return got(() => context.getExecutor.constructor("return process")());'),
  nothing('the constructor of getProperty', 'return got(() => context.getProperty.constructor("return process")());'),
  nothing(
    'the constructor of an executor',
    'const e = context.getExecutor("$WELL"); return got(() => e.execute.constructor("return process")());',
  ),
  nothing('the constructor of console.log', 'return got(() => console.log.constructor("return process")());'),
  nothing('the constructor of the input', 'return got(() => input.constructor.constructor("return process")());'),
  nothing(
    'the constructor of an error of the service',
    'try { context.getExecutor({ toString() { throw new Error("own"); } }); } catch (e) { return got(() => e.constructor.constructor("return process")()); }',
  ),
  nothing(
    'an error of the service thrown by a question',
    'try { context.getExecutor("$WELL").execute({ deep: 1 }); return "nothing"; } catch (e) { return got(() => e.constructor.constructor("return process.pid")()); }',
  ),
  nothing('indirect eval', 'return got(() => (0, eval)("process"));'),
  nothing('new Function', 'return got(() => new Function("return this.process")());'),
  nothing(
    'a function of another kind',
    'return got(() => (function* () {}).constructor("yield process")().next().value);',
  ),
  nothing('import of a module of the host', 'return import("node:fs").then(() => "found", () => "nothing");'),
  nothing('import of a file', 'return import("file:///etc/passwd").then(() => "found", () => "nothing");'),
  nothing(
    'who called',
    'return got(() => run.caller) + "" === "nothing" ? got(() => arguments.callee.caller) : "found";',
  ),
  nothing('who calls getExecutor', 'return got(() => context.getExecutor.caller ?? context.getExecutor.arguments);'),
  nothing(
    'structured call sites',
    'Error.prepareStackTrace = (_, sites) => sites; const o = {}; Error.captureStackTrace(o); return got(() => Array.isArray(o.stack) ? o.stack[0].getThis() : null);',
  ),
  nothing(
    'functions on structured call sites',
    'try { Object.defineProperty(Error, "prepareStackTrace", { value: (_, sites) => sites }); } catch {} return got(() => Array.isArray(new Error().stack) ? "sites" : null);',
  ),
  nothing(
    'a Proxy before the service',
    'return got(() => context.getExecutor.call(new Proxy(this, { get() { throw 1; } }), "x/y/z/w"));',
  ),
  nothing(
    'symbols that other hosts know',
    'return got(() => globalThis[Symbol.for("nodejs.util.inspect.custom")] ?? globalThis[Symbol.for("undici.globalDispatcher.1")]);',
  ),
  stackOf('a null of the code itself', 'null.x'),
  stackOf('getExecutor without a name', 'context.getExecutor().execute(1)'),
  stackOf('getExecutor of a symbol', 'context.getExecutor(Symbol("x")).execute(1)'),
  stackOf('getExecutor of an object that throws', 'context.getExecutor({ toString() { throw new Error("own"); } })'),
  stackOf('an executor whose KO fails', 'context.getExecutor("$WELL").execute({})'),
  stackOf('an executor with a cycle', 'const o = {}; o.o = o; context.getExecutor("$WELL").execute(o)'),
  stackOf('an executor with broken JSON', 'context.getExecutor("$WELL").execute("{", "application/json")'),
  stackOf('an executor with NUL', 'context.getExecutor("$WELL").execute("\\u0000", "application/json")'),
  stackOf('an artifact that is not there', 'require("./nowhere")'),
  stackOf('an artifact of the host', 'require("../../../../etc/passwd")'),
  stackOf('require of an object that throws', 'require({ toString() { throw new Error("own"); } })'),
];
