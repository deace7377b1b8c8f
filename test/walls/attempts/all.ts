import { AIMS } from '../support/attempt.ts';
import type { Aim, Attempt } from '../support/attempt.ts';
import { reads, writes } from './files.ts';
import { kernel } from './kernel.ts';
import { network } from './network.ts';
import { programs, signals, spies } from './processes.ts';

const byAim: Readonly<Record<Aim, readonly Omit<Attempt, 'aim'>[]>> = {
  reads,
  writes,
  spies,
  signals,
  programs,
  network,
  kernel,
};

export const attempts: readonly Attempt[] = (Object.keys(AIMS) as Aim[]).flatMap((aim) =>
  byAim[aim].map((each) => ({ ...each, aim })),
);
