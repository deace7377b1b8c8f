/** The `resource` engine: the result is the list of files; the files themselves are sent by the HTTP layer. */
import type { Engine, EngineHealth, EndpointPlan, Executor } from '../engine.ts';

export class ResourceEngine implements Engine {
  readonly name = 'resource';
  readonly method = 'get';
  readonly builtIn = true;

  activate(plan: EndpointPlan): Promise<Executor> {
    const result = JSON.stringify(plan.artifacts);
    return Promise.resolve({ execute: () => Promise.resolve(result), dispose: () => undefined });
  }

  health(): EngineHealth {
    return { status: 'UP', details: { engines: [this.name] } };
  }

  info(): Record<string, unknown> {
    return {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.resolve();
  }
}
