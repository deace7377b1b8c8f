import { engineConformance } from '../../../test/conformance/engine.ts';
import { ResourceEngine } from './engine.ts';

engineConformance(
  'resource',
  { constant: { files: { 'table.csv': 'a,b', 'docs/guide.pdf': '%PDF' }, result: ['table.csv', 'docs/guide.pdf'] } },
  () => {
    const engine = new ResourceEngine();
    return Promise.resolve({
      engine,
      maxResultBytes: Infinity,
      [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
    });
  },
);
