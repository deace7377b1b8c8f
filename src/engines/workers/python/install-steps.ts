/** The processes of an installation, which fetch and build: started and ended for the installer. */
import { SandboxProcess } from '../../sandbox/sandbox-process.ts';
import { OddFrame } from '../../sandbox/frames.ts';

/** What the installer asks for. */
export interface InstallStep {
  /** `fetch`: with the network, and without code of packages. `build`: the other way round. */
  readonly kind: 'fetch' | 'build';
  /** For Python. */
  readonly arguments: readonly string[];
  /** In which it starts. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The folder in which it may write, and the one with what is installed. */
  readonly work: string;
  readonly cache: string;
}

export interface StepEvents {
  onOutput(text: string): void;
  onEnd(code: number): void;
}

const KILLED = 137;

export class InstallSteps {
  readonly #python: string;
  readonly #running = new Map<number, SandboxProcess>();

  /** `python`: the interpreter. */
  constructor(python: string) {
    this.#python = python;
  }

  start(number: number, step: InstallStep, events: StepEvents): void {
    const command = {
      program: this.#python,
      args: step.arguments,
      env: step.environment,
      input: '',
      cwd: step.folder,
      isWorker: true,
    };
    const child = new SandboxProcess(command, {
      onFrame: () => undefined,
      mostOf: (kind) => {
        throw new OddFrame(`an installation sends no frames, and not of kind ${kind}`);
      },
      onOutput: (_name, stream) => {
        stream.setEncoding('utf8').on('data', (text: string) => events.onOutput(text));
      },
      onExit: (reason) => {
        this.#running.delete(number);
        events.onEnd(Number(/^exit code (\d+)/.exec(reason)?.[1] ?? KILLED));
      },
    });
    this.#running.set(number, child);
  }

  kill(number: number): void {
    this.#running.get(number)?.kill();
  }

  killAll(): void {
    for (const child of this.#running.values()) child.kill();
  }
}
