// A table whose lines are bars in ms with 95 % intervals, and that adds up to its last line.
import type { Interval } from "./bodies";
import { el, svg, type Child } from "./element";
import { reach, signed, percent } from "./number";
import { fillOf } from "./pattern";
import { heads } from "./table";

const HEADS: Record<string, string> = { layer: "", stage: "", "": "bar", share: "num share", "95 % interval": "num wide" };

export interface Line {
  name: string;
  ms: number;
  fill: string;
  ci?: Interval | undefined;
  p?: string;
  inner?: boolean; // a part of the line above
  sum?: boolean;
}

// `whole` is the change that the shares are of.
export function bars(caption: string, first: string, lines: Line[], whole: number, withP: boolean): HTMLTableElement {
  const scale = scaleOf(lines);
  const head = [first, "ms", "", "share", ...(withP ? ["p"] : []), "95 % interval"];
  return el(
    "table",
    { class: "bars" },
    el("caption", null, caption),
    heads(head.map((name) => [name, HEADS[name] ?? "num"])),
    el("tbody", null, ...lines.map((line) => row(line, whole, withP, scale))),
  );
}

interface Scale {
  low: number;
  at(ms: number): string;
  wide(ms: number): string;
}

function scaleOf(lines: Line[]): Scale {
  const ends = lines.flatMap((line) => [line.ms, ...(line.ci ?? [])]).filter((end): end is number => typeof end === "number");
  const low = Math.min(0, ...ends);
  const high = Math.max(0, ...ends, low + 1e-9);
  const share = (ms: number): number => (100 * ms) / (high - low);
  return { low, at: (ms) => `${share(ms - low).toFixed(3)}%`, wide: (ms) => `${share(ms).toFixed(3)}%` };
}

function row(line: Line, whole: number, withP: boolean, scale: Scale): HTMLTableRowElement {
  const cell = (text: Child): HTMLElement => el("td", { class: "num" }, text);
  return el(
    "tr",
    { class: line.sum ? "sum" : line.inner ? "inner" : "" },
    el("th", { scope: "row" }, line.name),
    cell(signed(line.ms)),
    el("td", { class: "bar" }, bar(line, scale)),
    el("td", { class: "num share" }, whole ? percent(line.ms / whole) : ""),
    withP ? cell(line.p ?? "") : null,
    el("td", { class: "num wide" }, line.ci ? reach(line.ci) : ""),
  );
}

function bar(line: Line, scale: Scale): SVGSVGElement {
  const [low, high] = line.ci ?? [null, null];
  const height = line.inner ? 8 : 14;
  const top = (20 - height) / 2;
  return svg(
    "svg",
    { width: "100%", height: 20, "aria-hidden": true },
    svg("rect", { x: scale.at(Math.min(0, line.ms)), y: top, width: scale.wide(Math.abs(line.ms)), height, fill: fillOf(line.fill), class: line.sum ? "box total" : "box" }),
    svg("line", { x1: scale.at(0), x2: scale.at(0), y1: 0, y2: 20, class: "zero" }),
    typeof low === "number" && typeof high === "number" && high > low
      ? [
          svg("line", { x1: scale.at(low), x2: scale.at(high), y1: 10, y2: 10, class: "whisker-case" }),
          svg("line", { x1: scale.at(low), x2: scale.at(high), y1: 10, y2: 10, class: "whisker" }),
          ...[low, high].map((end) => svg("line", { x1: scale.at(end), x2: scale.at(end), y1: 6, y2: 14, class: "whisker" })),
        ]
      : null,
  );
}
