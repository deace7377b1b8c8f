/**
 * Loaded into the service before all else: its clock jumps at each SIGUSR2, as if somebody set the machine's; first an
 * hour back, then two forward, and so on.
 */
const HOUR_MS = 3_600_000;
const SystemDate = Date;
const systemNow = Date.now.bind(Date);
let offset = 0;

class JumpingDate extends SystemDate {
  constructor(...parts: unknown[]) {
    super(...((parts.length === 0 ? [systemNow() + offset] : parts) as [number]));
  }

  static override now(): number {
    return systemNow() + offset;
  }
}

globalThis.Date = JumpingDate as DateConstructor;
process.on('SIGUSR2', () => {
  offset = offset < 0 ? HOUR_MS : -HOUR_MS;
  process.stdout.write(`${JSON.stringify({ event: 'jumped', offset })}\n`);
});
