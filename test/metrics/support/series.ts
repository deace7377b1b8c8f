/** Reads the text form of series. */
import type { Client } from '../../acceptance/support/knowledge-grid.ts';

/** The value of each series, by its name with its labels. */
export function seriesIn(text: string): Map<string, number> {
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    samples.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}

const read = async (service: Pick<Client, 'get'>): Promise<Map<string, number>> =>
  seriesIn((await service.get('/actuator/prometheus')).text);

/** Of a text that was made after this was asked, as the scrapes tell that it counts. */
export async function scrape(service: Pick<Client, 'get'>): Promise<Map<string, number>> {
  const before = scrapesIn(await read(service));
  return scrapeUntil(service, (series) => scrapesIn(series) > before);
}

const scrapesIn = (series: ReadonlyMap<string, number>): number =>
  series.get('http_server_request_duration_seconds_count{route="/actuator/prometheus",method="GET",status="200"}') ?? 0;

const PAUSE_MS = 20;
const PATIENCE_MS = 60_000;

/** The series, once `isThere`: a text counts for a moment. */
export async function scrapeUntil(
  service: Pick<Client, 'get'>,
  isThere: (series: ReadonlyMap<string, number>) => boolean,
): Promise<Map<string, number>> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const series = await read(service);
    if (isThere(series)) return series;
    if (Date.now() > end) throw new Error(`It did not come: ${[...series].map((each) => each.join(' ')).join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
