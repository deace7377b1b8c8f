/** What several activators share of the runtimes that register with one of them; see `fleet/shared-runtimes.ts`. */
import type { EndpointPlan } from '../engine.ts';
import type { ActivatedAt } from './activate-at.ts';
import type { Registration, Runtime } from './runtime.ts';

export interface RuntimeSharing {
  /**
   * A runtime registered here. `renews`: its endpoints are to be activated anew, by whichever activator is first.
   * Never throws.
   */
  registered(registration: Registration, activator: string, renews: boolean): void;
  /** Where runtimes fetch the artifacts of an endpoint, whichever activator they ask: a path with a slash at its end. */
  artifactsOf(plan: EndpointPlan): string;
  /** It gave no sign of life for too long. Never throws. */
  forgotten(url: string): void;
  /** Activates an endpoint, unless another activator has done it or is about to. @throws as `make`. */
  activate(runtime: Runtime, plan: EndpointPlan, make: () => Promise<ActivatedAt>): Promise<ActivatedAt>;
  /**
   * Tells a runtime that nobody needs an endpoint there any more, unless an activator needs it, or tells so already.
   * None activates it there meanwhile. Never rejects.
   */
  deactivate(url: string, endpoint: string, tell: () => Promise<void>): Promise<void>;
}
