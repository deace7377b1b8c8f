// Lines over the last hour, with the same in words for whoever does not see them.
import uPlot from 'uplot';
import { html, useEffect, useRef } from './html.js';

const HEIGHT = 180;

const colour = (name) =>
  getComputedStyle(document.documentElement)
    .getPropertyValue('--' + name)
    .trim();

const axis = (format) => ({
  stroke: () => colour('quiet'),
  grid: { stroke: () => colour('line'), width: 1 },
  ticks: { stroke: () => colour('line'), width: 1 },
  ...(format && { values: (_, all) => all.map(format), size: 64 }),
});

/** Places of values that have none beside them. */
const aloneIn = (/** @type {uPlot} */ { data }, /** @type {number} */ at) => {
  const has = (i) => data[at][i] !== null && data[at][i] !== undefined;
  return [...data[at].keys()].filter((i) => has(i) && !has(i - 1) && !has(i + 1));
};

/** @returns {uPlot.Options} */
const optionsOf = ({ lines, format, width, height }) => ({
  width,
  height,
  cursor: { drag: { x: false, y: false } },
  legend: { live: true },
  scales: { y: { range: (_, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
  axes: [axis(), axis(format)],
  series: [
    { value: (_, at) => (at === null ? '' : new Date(at * 1000).toLocaleTimeString()) },
    ...lines.map(({ label, colour: name, dash }) => ({
      label,
      stroke: () => colour(name),
      width: 2,
      dash,
      // A point that stands alone would not be drawn by a line.
      points: { show: true, size: 6, fill: () => colour(name), filter: aloneIn },
      spanGaps: false,
      value: (_, value) => (value === null || value === undefined ? '–' : format(value)),
    })),
  ],
});

/**
 * @param {{title: string, summary: string, times: number[], format: (value: number) => string,
 *   lines: {label: string, colour: string, dash?: number[], values: (number | null)[]}[]}} props
 *   `times` in seconds of the epoch; a colour is the name of one of the page.
 */
export function Chart({ title, summary, times, lines, format }) {
  const place = useRef(null);
  const chart = useRef(null);
  /** @type {uPlot.AlignedData} */
  const data = [times, ...lines.map(({ values }) => values)];
  const present = useRef(data);
  present.current = data;
  useEffect(() => {
    // Whoever goes on at once is gone before this runs.
    const at = place.current;
    if (at === null) return undefined;
    const draw = () => {
      chart.current?.destroy();
      const width = Math.max(200, at.clientWidth);
      chart.current = new uPlot(optionsOf({ lines, format, width, height: HEIGHT }), present.current, at);
    };
    draw();
    let width = at.clientWidth;
    const watch = new ResizeObserver(() => {
      if (at.clientWidth === width) return;
      width = at.clientWidth;
      chart.current.setSize({ width: Math.max(200, width), height: HEIGHT });
    });
    watch.observe(at);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    return () => {
      watch.disconnect();
      dark.removeEventListener('change', draw);
      chart.current.destroy();
      chart.current = undefined;
    };
  }, []);
  useEffect(() => chart.current?.setData(data), [times, ...lines.map(({ values }) => values)]);
  return html`
    <figure class="chart">
      <figcaption><strong>${title}</strong> <span class="quiet">${summary}</span></figcaption>
      <div ref=${place} aria-hidden="true"></div>
    </figure>
  `;
}
