/** Times as the interface writes them, in the local time zone. */

const pad = (value: number, digits = 2): string => String(value).padStart(digits, '0');

/** Asking for it takes 5 µs. */
const { timeOrigin } = performance;

/** Milliseconds since 1970, with their fraction. */
export const preciseNow = (): number => timeOrigin + performance.now();

/** "local date-time, ISO 8601 without zone, with fractional seconds": `2026-11-20T11:39:15.963169`. */
export function localTimestamp(now: number = preciseNow()): string {
  const date = new Date(now);
  const micros = Math.floor((now - Math.floor(now)) * 1000);
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day}T${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}${pad(micros, 3)}`;
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The `Time` of error bodies: `Wed Feb 24 16:18:26 EST 2021`. */
export function humanTime(date: Date = new Date()): string {
  const clock = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  return `${DAYS[date.getDay()] ?? ''} ${MONTHS[date.getMonth()] ?? ''} ${pad(date.getDate())} ${clock} ${zoneName(date)} ${date.getFullYear()}`;
}

/** The last one: errors come by the thousand, and the short name of a zone takes 30 µs to find. */
let lastZone = { long: '', short: '' };

/** `EST` */
function zoneName(date: Date): string {
  const text = date.toString();
  const long = text.slice(text.indexOf('GMT'));
  if (long !== lastZone.long) lastZone = { long, short: shortZoneName(date) };
  return lastZone.short;
}

function shortZoneName(date: Date): string {
  const parts = new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' }).formatToParts(date);
  return (parts.find((part) => part.type === 'timeZoneName')?.value ?? 'UTC').replace(/\s/g, '');
}

/** Whole milliseconds since the process began, by a clock that nobody sets: limits hold whatever the date does. */
export const uptime = (): number => Math.floor(performance.now());
