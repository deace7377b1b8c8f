import { engineConformance } from '../../../test/conformance/engine.ts';
import { managedWorkers } from '../../../test/conformance/workers-host.ts';

const script = (code: string) => ({ files: { 'src/index.js': code }, function: 'run' });

engineConformance(
  'node',
  {
    echo: script('exports.run = (input) => input;'),
    broken: [
      { ...script('exports.run = () => {\n  return }}\n'), at: /SyntaxError: .*src\/index\.js.*2/ },
      { ...script('const a = 1;\n\nmissing();'), at: /ReferenceError: missing .*src\/index\.js.*3/ },
      { ...script('exports.walk = 1;'), at: /run/ },
    ],
    endless: {
      ...script('exports.run = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);'),
      timeout: 3000,
    },
    failing: { ...script('exports.run = () => missing;'), says: /^Code execution error: ReferenceError: missing/ },
  },
  () => managedWorkers('node'),
);
