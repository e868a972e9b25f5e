// The numbers of the heat map as a table: the same counts, neighbouring bins put together.
import { el } from "./element";
import type { HeatScale } from "./heatscale";
import { clock, day } from "./moment";
import { axis, count, milliseconds } from "./number";
import { heads, numbered } from "./table";
import { quantileTitle } from "./word";

const BANDS = 10;

export function heatTable(scale: HeatScale): HTMLTableElement {
  const bins = scale.lastBin - scale.firstBin + 1;
  const each = Math.ceil(bins / BANDS);
  const bands: [number, number][] = [];
  for (let bin = scale.firstBin; bin <= scale.lastBin; bin += each) bands.push([bin, Math.min(scale.lastBin, bin + each - 1)]);
  const head = ["from (UTC)", "requests", `${quantileTitle(scale.map.quantile)} ms`, ...bands.map(([low, high]) => `${axis(scale.band(low)[0])}–${axis(scale.band(high)[1])}`)];
  return el(
    "table",
    { class: "list" },
    el("caption", { class: "unseen" }, "Requests by time and latency"),
    heads(numbered(head)),
    el("tbody", null, ...scale.map.times.map((_, column) => row(scale, column, bands)).reverse()),
  );
}

// What was marked in this column: a deploy, a changed configuration.
function marks(scale: HeatScale, column: number): string[] {
  const inside = scale.map.marks.filter(({ time }) => Date.parse(time) >= scale.start(column) && Date.parse(time) < scale.start(column + 1));
  return inside.map((mark) => [mark.kind, mark.name].filter(Boolean).join(" "));
}

function row(scale: HeatScale, column: number, bands: [number, number][]): HTMLElement {
  const at = new Date(scale.start(column));
  const counts = bands.map(([low, high]) => {
    let n = 0;
    for (let bin = low; bin <= high; bin += 1) n += scale.count(column, bin);
    return n;
  });
  const ms = scale.map.quantile_ms[column];
  return el(
    "tr",
    null,
    el("th", { scope: "row" }, `${day(at)} ${clock(at)}`, ...marks(scale, column).map((text) => el("span", { class: "dim" }, ` ${text}`))),
    el("td", { class: "num" }, count(counts.reduce((sum, n) => sum + n, 0))),
    el("td", { class: "num strong" }, ms === null || ms === undefined ? "–" : milliseconds(ms)),
    ...counts.map((n) => el("td", { class: "num" }, n ? count(n) : "")),
  );
}
