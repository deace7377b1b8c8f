/**
 * A sandbox that somebody has taken over. It loads whatever it is given, and does with a call what the input says:
 * `{"bytes": base64}` is sent as it is, with the number of the call where a frame has 0xfffffff0, `{"exit": …}` ends it, `{"close": …}` closes its pipe, and anything else is the
 * result, as it would be.
 */
import { closeSync, readSync, writeSync } from 'node:fs';
import { FrameReader, frame } from '../../../src/engines/supervisor/frames.ts';
import { answers, kinds } from '../../../src/engines/supervisor/messages.ts';

const SOCKET_FD = 3;
const send = (bytes: Uint8Array): void => {
  for (let at = 0; at < bytes.length;) at += writeSync(SOCKET_FD, bytes, at);
};
const sleep = (): never => {
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
};

/** What stands for the number of the call, in either number of a frame. */
const NUMBER = Buffer.of(0xf0, 0xff, 0xff, 0xff);

function ofCall(number: number, bytes: Buffer): Buffer {
  for (let at = bytes.indexOf(NUMBER); at >= 0; at = bytes.indexOf(NUMBER)) bytes.writeUInt32LE(number, at);
  return bytes;
}

function run(number: number, text: string): void {
  const lines = text
    .slice(text.indexOf('\n') + 1)
    .split('\0')
    .map((input) => {
      const asked = JSON.parse(input) as { bytes?: string; signal?: NodeJS.Signals; close?: boolean } | null;
      if (asked?.bytes !== undefined) send(ofCall(number, Buffer.from(asked.bytes, 'base64')));
      if (asked?.signal !== undefined) process.kill(process.pid, asked.signal);
      if (asked?.close === true) closeSync(SOCKET_FD);
      if (asked?.bytes !== undefined || asked?.signal !== undefined || asked?.close === true) sleep();
      return input;
    });
  send(frame(kinds.results, number, 10, lines.join('\n')));
}

const reader = new FrameReader((kind, a, _b, text) => {
  if (kind === kinds.define) send(frame(kinds.ping, 0, 0, ''));
  if (kind === kinds.load || kind === kinds.check) send(frame(kinds.answer, a, answers.result, ''));
  if (kind === kinds.batch) run(a, text);
});
send(frame(kinds.ping, 0, 0, ''));
const buffer = Buffer.alloc(65_536);
for (;;) {
  const got = readSync(SOCKET_FD, buffer);
  if (got === 0) process.exit();
  reader.push(buffer.subarray(0, got));
}
