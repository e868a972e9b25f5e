// The latency heat map: time by log latency, the quantile's line over it, and what was deployed meanwhile.
import type { Heatmap } from "./bodies";
import { axisLook, chart, place, type Option } from "./chart";
import { HeatScale, MARGINS } from "./heatscale";
import { clock, day } from "./moment";
import { axis } from "./number";
import { shade } from "./palette";
import { color, dark } from "./theme";

interface Drawing {
  coord(at: [number, number]): [number, number];
  value(at: number): number;
}

// Draws into `box`; `show` replaces the numbers.
export function heat(box: HTMLElement, signal: AbortSignal): { show: (scale: HeatScale) => void } {
  let scale: HeatScale | null = null;
  const drawn = chart(box, () => (scale ? option(scale, box.clientWidth) : {}), signal);
  return {
    show(next) {
      scale = next;
      drawn.again();
    },
  };
}

function option(scale: HeatScale, width: number): Option {
  const { map } = scale;
  const long = scale.to - scale.from > 36 * 3600_000;
  const ticks = scale.ticks();
  return {
    grid: place({ ...MARGINS }),
    xAxis: {
      type: "time",
      min: scale.from,
      max: scale.to,
      ...axisLook({
        formatter: (time: number) => (long ? `${day(new Date(time)).slice(5)} ${clock(new Date(time), false)}` : clock(new Date(time), scale.to - scale.from < 600_000)),
      }),
      splitNumber: Math.max(3, Math.floor(width / 130)),
    },
    yAxis: {
      type: "log",
      min: scale.low,
      max: scale.high,
      ...axisLook({ customValues: ticks, formatter: (ms: number) => axis(ms) }, { customValues: ticks }),
    },
    series: [cells(scale), line(scale, 5, "paper"), line(scale, 2, "accent"), marks(map)],
  };
}

// One item a column, so that thousands of cells stay a few hundred.
function cells(scale: HeatScale): object {
  const columns = new Map<number, [number, number][]>();
  for (const [at, bin, n] of scale.map.cells) {
    if (n > 0) (columns.get(at) ?? columns.set(at, []).get(at)!).push([bin, n]);
  }
  const night = dark();
  const most = Math.log1p(scale.most);
  return {
    type: "custom",
    silent: true,
    clip: true,
    data: [...columns.keys()].map((at) => [scale.start(at), scale.low, at]),
    renderItem(_: unknown, drawing: Drawing) {
      const at = drawing.value(2);
      const [left] = drawing.coord([scale.start(at), scale.low]);
      const [right] = drawing.coord([scale.start(at + 1), scale.low]);
      return { type: "group", children: (columns.get(at) ?? []).map(([bin, n]) => cell(bin, n, left, right)) };

      function cell(bin: number, n: number, x: number, end: number): object {
        const [low, high] = scale.band(bin);
        const [, bottom] = drawing.coord([0, Math.max(low, scale.low)]);
        const [, top] = drawing.coord([0, Math.min(high, scale.high)]);
        const shape = { x: Math.floor(x), y: Math.floor(top), width: Math.ceil(end) - Math.floor(x), height: Math.ceil(bottom) - Math.floor(top) };
        return { type: "rect", shape, style: { fill: shade(Math.log1p(n) / most, night) } };
      }
    },
  };
}

function line(scale: HeatScale, width: number, name: string): object {
  const middle = (scale.map.step_s * 1000) / 2;
  return {
    type: "line",
    silent: true,
    showSymbol: scale.columns() < 3,
    symbolSize: width,
    lineStyle: { width, color: color(name), cap: "round", join: "round" },
    itemStyle: { color: color(name) },
    data: scale.map.quantile_ms.map((ms, at) => [scale.start(at) + middle, ms ?? NaN]),
  };
}

function marks(map: Heatmap): object {
  return {
    type: "line",
    silent: true,
    data: [],
    markLine: {
      silent: true,
      symbol: "none",
      lineStyle: { color: color("ink"), type: [3, 3], width: 1.5 },
      label: { position: "end", color: color("ink"), fontSize: 11, distance: 4, backgroundColor: color("paper"), padding: [1, 4], overflow: "truncate", width: 160 },
      data: map.marks.map((mark) => ({ xAxis: Date.parse(mark.time), label: { formatter: [mark.kind, mark.name].filter(Boolean).join(" ") } })),
    },
  };
}
