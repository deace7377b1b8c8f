import { results } from './cases/results.ts';
import { attack } from './support/attack.ts';

attack('results', results, { args: ['--max-result', '100000'] });
