// The gaps between one request's tokens, each at the moment when its token came.
import type { Trace } from "./bodies";
import { axisLook, chart, type Option } from "./chart";
import { append, el, type Child } from "./element";
import { axis, milliseconds } from "./number";
import { color } from "./theme";
import type { Domain } from "./waterfall";

export interface Placed {
  domain(): Domain;
  place(): [number, number]; // px from the left edge, and width
}

export function gapsOf(trace: Trace): number[] {
  return trace.gaps_ms ?? trace.timeline_us.map((us) => us / 1000);
}

export function gaps(trace: Trace, placed: Placed, signal: AbortSignal): { node: HTMLElement; again: () => void } {
  const told = gapsOf(trace);
  const node = el("section", { class: "strip", "aria-label": "Gaps between tokens" }, el("h3", null, "Gaps between tokens"), el("p", { class: "dim" }, words(trace, told.length > 0)));
  if (!told.length || trace.ttft_us === null) return { node, again: () => undefined };
  const box = el("div", { class: "chart gaps", role: "img", "aria-label": words(trace, true) });
  append(node, [box, table(told)]);
  let at = trace.ttft_us / 1000;
  const points = told.map((gap) => [(at += gap), gap] as [number, number]);
  let drawn: ReturnType<typeof chart> | null = null;
  return {
    node,
    again: () => (drawn ? drawn.again() : (drawn = chart(box, () => option(points, placed), signal))),
  };
}

function words(trace: Trace, ordered: boolean): string {
  const { count, p50_us: p50, p99_us: p99, max_us: max } = trace.gaps;
  if (!count) return "This request wrote one token or none, so there is no gap.";
  const ms = (us: number | undefined): string => (us === undefined ? "?" : milliseconds(us / 1000));
  const late = trace.stalls.length ? ` Late: ${trace.stalls.slice(0, 5).map((stall) => `token ${stall.token} after ${ms(stall.gap_us)} ms`).join(", ")}.` : "";
  const order = ordered ? "" : " Their order is not stored: only their distribution was recorded.";
  return `${count} between tokens: P50 ${ms(p50)}, P99 ${ms(p99)}, longest ${ms(max)} ms.${late}${order}`;
}

function table(told: number[]): Child {
  return el("details", null, el("summary", null, "The same as a list"), el("p", { class: "mono wrap" }, told.map((gap) => milliseconds(gap)).join(" ")));
}

function option(points: [number, number][], placed: Placed): Option {
  const [left, width] = placed.place();
  const [min, max] = placed.domain();
  const typical = [...points].map(([, gap]) => gap).sort((a, b) => a - b)[Math.floor(points.length / 2)] ?? 0;
  return {
    grid: { left, width, top: 6, bottom: 4 },
    xAxis: { type: "value", min, max, ...axisLook(), axisLabel: { show: false }, axisTick: { show: false }, axisLine: { show: true, onZero: false, lineStyle: { color: color("line") } } },
    yAxis: { type: "value", min: 0, splitNumber: 2, ...axisLook(), axisLabel: { ...(axisLook().axisLabel as object), formatter: (ms: number) => (ms ? axis(ms) : "0") } },
    series: [
      {
        type: "bar",
        silent: true,
        barWidth: Math.max(1, Math.min(6, (0.6 * width) / points.length)),
        itemStyle: { color: color("sky") },
        data: points.map(([at, gap]) => ({ value: [at, gap], itemStyle: { color: color(gap > 5 * typical ? "accent" : "sky") } })),
      },
    ],
  };
}
