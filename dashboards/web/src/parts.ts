// The lines of a report's two tables, as the command prints them.
import type { Interval, Why } from "./bodies";
import type { Line } from "./bars";
import { probability } from "./number";
import { layerTitle } from "./word";

const WORTH_A_LINE = 0.005; // share of the change below which layers are put together
const SMALLEST_MS = 0.005;

export function layerLines(why: Why): Line[] {
  const delta = why.delta_ms ?? 0;
  const sorted = Object.entries(why.layers).sort(([a, x], [b, y]) => Math.abs(y.ms) - Math.abs(x.ms) || (a < b ? -1 : 1));
  const large = sorted.filter(([, layer]) => Math.abs(layer.ms) >= WORTH_A_LINE * Math.abs(delta));
  const small = sorted.slice(large.length);
  const lines: Line[] = large.flatMap(([name, layer]) => [
    { name: layerTitle(name), ms: layer.ms, fill: `layer-${name}`, ci: layer.ci_ms, p: probability(layer.p) },
    ...Object.entries(layer.of_it ?? {}).map(([part, ms]) => ({ name: `of it ${part.split(".").pop()}`, ms, fill: `layer-${name}`, inner: true })),
  ]);
  if (small.length) {
    const which = large.length === 0 ? "all layers" : small.length === 1 ? "1 other layer" : `${small.length} other layers`;
    lines.push({ name: which, ms: small.reduce((sum, [, layer]) => sum + layer.ms, 0), fill: "unexplained" });
  }
  return [...lines, ...rest(why, why.unexplained_ms), total(why)];
}

export function stageLines(why: Why): Line[] {
  const outside = why.stages.outside;
  const stages = Object.entries(why.stages).filter(([name]) => name !== "outside").sort(([, x], [, y]) => Math.abs(y.ms) - Math.abs(x.ms));
  const all = outside ? [...stages, ["outside", outside] as const] : stages;
  const lines = all.map(([name, stage]) => ({ name, ms: stage.ms, fill: stageFill(name), ci: stage.ci_ms }));
  return [...lines, ...rest(why, why.checks.stages_unexplained_ms ?? null)].filter((line) => Math.abs(line.ms) >= SMALLEST_MS).concat(total(why));
}

// Whether each layer's part may be shown without being asked for: the change stands out of its own uncertainty.
export function standsOut(why: Why): boolean {
  const [low, high] = why.delta_ci_ms;
  return why.delta_ms !== null && typeof low === "number" && typeof high === "number" && !(low < 0 && high > 0);
}

function rest(why: Why, unexplained: number | null): Line[] {
  const lines: [string, number | null, string][] = [
    ["workload (mix)", why.workload_ms, "workload"],
    ["load (arrivals)", why.load_ms, "load"],
    ["unexplained", unexplained, "unexplained"],
  ];
  return lines.filter((line): line is [string, number, string] => line[1] !== null).map(([name, ms, fill]) => ({ name, ms, fill }));
}

function total(why: Why): Line {
  return { name: "sum", ms: why.delta_ms ?? 0, fill: "total", ci: why.delta_ci_ms as Interval, sum: true };
}

function stageFill(name: string): string {
  return /^(decode_.*|forward|batch_wait)$/.test(name) ? "stage-decode" : `stage-${name}`;
}
