import type { Finding } from '../../src/check/findings.ts';
import { placeIn } from '../../src/check/ko-source.ts';
import type { KoSource } from '../../src/check/ko-source.ts';
import type { Terminal } from './terminal.ts';

export function printFindings(source: KoSource, findings: readonly Finding[], terminal: Terminal): void {
  for (const { severity, file, line, message } of findings) {
    const place = terminal.bold(placeIn(source, file, line));
    terminal.print(
      severity === 'problem' ? `${place}: ${message}` : `${place}: ${terminal.warning('warning')}: ${message}`,
    );
  }
}
