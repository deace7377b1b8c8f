/**
 * A sandbox that somebody has taken over. It loads whatever it is given, and does with a call what the input says:
 * `{"bytes": base64}` is sent as it is, `{"exit": …}` ends it, `{"close": …}` closes its pipe, and anything else is the
 * result, as it would be.
 */
import { closeSync, readSync, writeSync } from 'node:fs';
import { FrameReader, frame } from '../../supervisor/frames.ts';
import { CHECK, DONE, LOAD, LOADED, READY, RUN } from '../../sandbox/protocol.ts';

const SOCKET_FD = 3;
const send = (bytes: Uint8Array): void => {
  for (let at = 0; at < bytes.length;) at += writeSync(SOCKET_FD, bytes, at);
};
const sleep = (): never => {
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
};

function run(slot: number, text: string): void {
  const lines = text
    .slice(text.indexOf('\n') + 1)
    .split('\0')
    .map((input) => {
      const asked = JSON.parse(input) as { bytes?: string; signal?: NodeJS.Signals; close?: boolean } | null;
      if (asked?.bytes !== undefined) send(Buffer.from(asked.bytes, 'base64'));
      if (asked?.signal !== undefined) process.kill(process.pid, asked.signal);
      if (asked?.close === true) closeSync(SOCKET_FD);
      if (asked?.bytes !== undefined || asked?.signal !== undefined || asked?.close === true) sleep();
      return input;
    });
  send(frame(DONE, slot, 10, lines.join('\n')));
}

const reader = new FrameReader((kind, slot, _b, text) => {
  if (kind === LOAD || kind === CHECK) send(frame(LOADED, slot, 10, ''));
  if (kind === RUN) run(slot, text);
});
send(frame(READY, 0, 0, ''));
const buffer = Buffer.alloc(65_536);
for (;;) {
  const got = readSync(SOCKET_FD, buffer);
  if (got === 0) process.exit();
  reader.push(buffer.subarray(0, got));
}
