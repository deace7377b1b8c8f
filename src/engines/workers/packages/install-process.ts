/** A process that fetches or builds packages, behind its walls. */
import { OddFrame } from '../../supervisor/frames.ts';
import { SandboxProcess } from '../../supervisor/process.ts';
import type { Command } from '../../supervisor/process.ts';
import type { Kernel } from '../../../confinement/walls.ts';
import { groupHasEnded } from './group-end.ts';

export interface InstallEvents {
  readonly onOutput: (text: string) => void;
  /** All that it has started has ended too. */
  readonly onEnd: (code: number) => void;
}

const KILLED = 137;

export function startInstall(
  command: Omit<Command, 'input' | 'isWorker'>,
  { onOutput, onEnd }: InstallEvents,
  kernel: Kernel,
): SandboxProcess {
  const child = new SandboxProcess(
    { ...command, input: '', isWorker: true },
    {
      onFrame: () => undefined,
      mostOf: (kind) => {
        throw new OddFrame(`an installation sends no frames, and not of kind ${kind}`);
      },
      onOutput: (_name, stream) => {
        stream.setEncoding('utf8').on('data', onOutput);
      },
      onExit: (reason) => {
        const code = Number(/^exit code (\d+)/.exec(reason)?.[1] ?? KILLED);
        const { pid } = child;
        if (pid === undefined) onEnd(code);
        else void groupHasEnded(pid).then((hasEnded) => onEnd(hasEnded ? code : KILLED));
      },
    },
    kernel,
  );
  return child;
}
