/**
 * The program that started the runtime. Its first line on standard input holds what must not stand in an environment,
 * which other processes can read; and it is gone when standard input ends.
 */

export interface HandedOver {
  /** Every request must carry it, and those to the activator do. */
  readonly secret: string | undefined;
  /** Variables for the package installer, which may hold credentials. */
  readonly installer: Readonly<Record<string, string>>;
}

const maxLineCharacters = 1_000_000;

/** Gives what the first line says: JSON `{"secret"?, "installer"?}`, or nothing. */
export function watchParent(gone: () => void): Promise<HandedOver> {
  return new Promise((resolve) => {
    let text = '';
    let complete = false;
    process.stdin
      .setEncoding('utf8')
      .on('data', (chunk: string) => {
        if (complete) return;
        text += chunk;
        const end = text.indexOf('\n');
        complete = end >= 0;
        if (complete) resolve(parse(text.slice(0, end)));
        else if (text.length > maxLineCharacters) gone();
      })
      .on('error', gone)
      .on('close', gone);
  });
}

function parse(line: string): HandedOver {
  const { secret, installer } = (line.trim() === '' ? {} : JSON.parse(line)) as Partial<HandedOver>;
  return { secret: secret || undefined, installer: installer ?? {} };
}
