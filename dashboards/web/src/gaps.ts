// The gaps between one request's tokens, each at the moment when its token came.
import type { Trace } from "./bodies";
import { axisLook, bareAxis, chart, place, type Option } from "./chart";
import { append, el, type Child } from "./element";
import { axis, milliseconds } from "./number";
import { color } from "./theme";
import type { Domain } from "./waterfall";

const LATE = 5; // times the median: drawn in the colour of what is late

export interface Placed {
  domain(): Domain;
  place(): [number, number]; // px from the left edge, and width
}

export function gapsOf(trace: Trace): number[] {
  return trace.gaps_ms ?? trace.timeline_us.map((us) => us / 1000);
}

export function gaps(trace: Trace, placed: Placed, signal: AbortSignal): { node: HTMLElement; again: () => void } {
  const ordered = gapsOf(trace);
  const told = ordered.length ? ordered : (trace.gaps_by_length_ms ?? []);
  const text = words(trace, ordered.length > 0);
  const node = el("section", { class: "strip", "aria-label": "Gaps between tokens" }, el("h3", null, "Gaps between tokens"), el("p", { class: "dim" }, text));
  if (!told.length || trace.ttft_us === null) return { node, again: () => undefined };
  const box = el("div", { class: "chart gaps", role: "img", "aria-label": text });
  append(node, [box, table(told)]);
  const points = ordered.length ? atTokens(ordered, trace.ttft_us / 1000) : told.map((gap, at) => [at + 0.5, gap] as [number, number]);
  const domain = ordered.length ? placed.domain : (): Domain => [0, told.length];
  const later = el("p", { class: "dim", hidden: true }, "All of them come after the stretch shown: choose the whole request.");
  box.after(later);
  let drawn: ReturnType<typeof chart> | null = null;
  return { node, again };

  function again(): void {
    later.hidden = points.some(([at]) => at <= domain()[1]);
    box.hidden = !later.hidden;
    if (drawn) drawn.again();
    else drawn = chart(box, () => option(points, { domain, place: placed.place }), signal);
  }
}

function atTokens(gaps: number[], first: number): [number, number][] {
  let at = first;
  return gaps.map((gap) => [(at += gap), gap]);
}

function words(trace: Trace, ordered: boolean): string {
  const { count, p50_us: p50, p99_us: p99, max_us: max } = trace.gaps;
  if (!count) return "This request wrote one token or none, so there is no gap.";
  const ms = (us: number | undefined): string => (us === undefined ? "?" : milliseconds(us / 1000));
  const late = trace.stalls.length ? ` Late: ${trace.stalls.slice(0, 5).map((stall) => `token ${stall.token} after ${ms(stall.gap_us)} ms`).join(", ")}.` : "";
  const order = ordered ? "" : " Shown by length: their order in time is not stored.";
  return `${count} between tokens: P50 ${ms(p50)}, P99 ${ms(p99)}, longest ${ms(max)} ms.${late}${order}`;
}

function table(told: number[]): Child {
  return el("details", null, el("summary", null, "The same as a list"), el("p", { class: "mono wrap" }, told.map((gap) => milliseconds(gap)).join(" ")));
}

function option(points: [number, number][], placed: Placed): Option {
  const [left, width] = placed.place();
  const [min, max] = placed.domain();
  const thick = Math.max(1, Math.min(6, (0.6 * width) / points.length));
  const typical = points.map(([, gap]) => gap).sort((a, b) => a - b)[Math.floor(points.length / 2)] ?? 0;
  const [late, usual] = [color("accent"), color("sky")]; // looked up once, not for each of thousands of gaps
  return {
    grid: place({ left, width, top: 6, bottom: 4 }),
    xAxis: bareAxis(min, max),
    yAxis: { type: "value", min: 0, splitNumber: 2, ...axisLook({ formatter: (ms: number) => (ms ? axis(ms) : "0") }) },
    series: [
      {
        type: "custom",
        silent: true,
        clip: true,
        data: points,
        renderItem(_: unknown, drawing: { coord(at: number[]): [number, number]; value(at: number): number }) {
          const gap = drawing.value(1);
          const [x, top] = drawing.coord([drawing.value(0), gap]);
          const [, bottom] = drawing.coord([0, 0]);
          const shape = { x: x - thick / 2, y: Math.min(top, bottom - 1), width: thick, height: Math.max(1, bottom - top) };
          return { type: "rect", shape, style: { fill: gap > LATE * typical ? late : usual } };
        },
      },
    ],
  };
}
