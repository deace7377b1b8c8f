import { engineConformance } from '../../../test/conformance/engine.ts';
import { managedWorkers } from '../../../test/conformance/workers-host.ts';

const script = (code: string) => ({ files: { 'src/main.py': code }, function: 'run' });

engineConformance(
  'python',
  {
    echo: script('def run(value):\n    return value\n'),
    broken: [
      { ...script('def run(value):\n    return (\n'), at: /SyntaxError: .*src\/main\.py.*2/ },
      { ...script('a = 1\n\nmissing()\n'), at: /NameError: .*missing.*src\/main\.py.*3/ },
      { ...script('walk = 1\n'), at: /run/ },
    ],
    endless: { ...script('import threading\ndef run(value):\n    threading.Event().wait()\n'), timeout: 3000 },
    failing: {
      ...script('def run(value):\n    return missing\n'),
      says: /^Code execution error: NameError: .*missing/,
    },
  },
  () => managedWorkers('python'),
);
