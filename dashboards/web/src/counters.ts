// What the request's cards and host did meanwhile: small charts on the same axis, usual values beside.
import type { Finding, Series, Trace } from "./bodies";
import { axisLook, bareAxis, chart, place, type Option } from "./chart";
import { append, el, fill, type Child } from "./element";
import type { Placed } from "./gaps";
import { digits, percent } from "./number";
import { isShare, quantity, scaled, shortTitle } from "./quantity";
import { heads, numbered, scrolled } from "./table";
import { color } from "./theme";
import { number } from "./waterfall";
import { capital, layerTitle } from "./word";

const SHOWN = 6;
const COVERED = 0.5;

export function counters(trace: Trace, placed: Placed, signal: AbortSignal): { node: HTMLElement; again: () => void } {
  const told = trace.evidence;
  const node = el("section", { class: "strip", "aria-label": "Counters of its cards and host" }, el("h3", null, "What its cards and host did"));
  const whole = (told?.findings ?? []).filter((each) => each.stage === "request");
  const series = ranked(trace.series ?? [], whole);
  const drawn: ReturnType<typeof chart>[] = [];
  let begun = false;
  const grid = el("div", { class: "multiples" });
  if (!series.length && !whole.length) node.append(el("p", { class: "dim" }, nothing(trace)));
  else append(node, [el("p", null, sentence(told?.headline)), el("p", { class: "dim" }, held(trace)), grid, values(whole)]);
  return { node, again };

  function again(): void {
    if (!begun && series.length) show(SHOWN);
    else for (const each of drawn) each.again();
  }

  function show(most: number): void {
    begun = true;
    for (const one of series.slice(drawn.length, most)) {
      const box = el("div", { class: "chart counter", role: "img", "aria-label": label(one, findingOf(one, whole)) });
      grid.append(el("figure", null, caption(one, findingOf(one, whole)), box));
      drawn.push(chart(box, () => option(one, findingOf(one, whole), trace, placed), signal));
    }
    const left = series.length - drawn.length;
    if (left > 0) {
      const more = el("button", { type: "button", onclick: () => (more.remove(), show(series.length)) }, `Show ${left} more`);
      grid.append(more);
    }
  }
}

function findingOf(series: Series, findings: Finding[]): Finding | undefined {
  return findings.find((each) => each.counter === series.counter && (each.device === series.device || series.device.endsWith(`:${each.device}`) || !each.device)) ?? findings.find((each) => each.counter === series.counter);
}

// What deviates most comes first.
function ranked(series: Series[], findings: Finding[]): Series[] {
  const z = (one: Series): number => Math.abs(findingOf(one, findings)?.z ?? 0);
  return series.filter((one) => one.points.length > 0).sort((a, b) => z(b) - z(a));
}

function caption(one: Series, finding: Finding | undefined): HTMLElement {
  const share = isShare(one.title, one.unit);
  const usual = finding?.before ?? finding?.beside;
  const [value, other] = finding ? quantity(finding.unit, share, finding.value, usual?.median) : ["", ""];
  return el(
    "figcaption",
    null,
    el("b", null, shortTitle(one.title)),
    one.device ? el("span", { class: "dim" }, ` ${one.device}`) : null,
    finding ? el("span", { class: "value" }, `${value}${other ? ` (usual ${other})` : ""}`) : null,
  );
}

function label(one: Series, finding: Finding | undefined): string {
  const values = one.points.map(([, value]) => value);
  const share = isShare(one.title, one.unit);
  const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => quantity(one.unit, share, value)[0]);
  const own = finding ? `, in the request ${quantity(finding.unit, share, finding.value)[0]}` : "";
  return `${one.title} of ${one.device || "the host"}: ${low} to ${high}${own}`;
}

function option(one: Series, finding: Finding | undefined, trace: Trace, placed: Placed): Option {
  const [left, width] = placed.place();
  const [min, max] = placed.domain();
  const share = isShare(one.title, one.unit);
  const [factor, name] = scaled(one.unit, share, Math.max(...one.points.map(([, value]) => Math.abs(value))));
  const usual = finding?.kind === "gauge" ? finding.before?.median : undefined;
  const e2e = number(trace.request.e2e_us);
  const values = [...one.points.map(([, value]) => value), ...(usual === undefined ? [] : [usual])].map((value) => factor * value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || Math.abs(high) || 1) * 0.12;
  return {
    grid: place({ left, width, top: 6, bottom: 6 }),
    xAxis: bareAxis(min, max),
    yAxis: { type: "value", min: low >= 0 ? Math.max(0, low - room) : low - room, max: high + room, ...axisLook({ customValues: low === high ? [low] : [low, high], formatter: (value: number) => `${digits(value)}${name}` }, { show: false }) },
    series: [
      {
        type: "line",
        silent: true,
        showSymbol: one.points.length < 40,
        symbolSize: 4,
        lineStyle: { width: 1.5, color: color("blue") },
        itemStyle: { color: color("blue") },
        data: one.points.map(([at, value]) => [at, factor * value]),
        ...(e2e === null ? {} : { markArea: { silent: true, itemStyle: { color: color("band") }, data: [[{ xAxis: Math.max(min, 0) }, { xAxis: Math.min(max, e2e / 1000) }]] } }),
        ...(usual === undefined ? {} : { markLine: { silent: true, symbol: "none", label: { show: false }, lineStyle: { color: color("dim"), type: [4, 3] }, data: [{ yAxis: factor * usual }] } }),
      },
    ],
  };
}

function values(findings: Finding[]): Child {
  const seen = findings.filter((each) => each.coverage >= COVERED);
  if (!seen.length) return null;
  const rows = seen.map((each) => {
    const [value, usual, beside] = quantity(each.unit, isShare(each.meaning, each.unit), each.value, each.before?.median, each.beside?.median);
    const cells = [layerTitle(each.layer), each.device, value, usual ?? "", beside ?? "", each.z === null ? "" : `${each.z > 0 ? "+" : ""}${Math.max(-999, Math.min(999, each.z)).toFixed(1)}`, percent(each.coverage)];
    return el("tr", null, el("th", { scope: "row" }, shortTitle(each.meaning)), ...cells.map((text, at) => el("td", { class: at > 1 ? "num" : "" }, text)));
  });
  const head = ["counter", "layer", "device", "value", "usual", "beside", "z", "covered"];
  const body = el("tbody");
  fill(body, rows);
  return el(
    "details",
    null,
    el("summary", null, `All ${seen.length} counters as a table`),
    scrolled("Counters", el("table", { class: "list" }, heads(numbered(head, 3)), body)),
  );
}

function sentence(headline: string | undefined): string {
  const text = (headline ?? "").replace(/^evidence: /, "");
  return text ? `${capital(text)}.` : "";
}

function held(trace: Trace): string {
  const told = trace.evidence;
  if (!told) return "";
  return `Usual: ${told.earlier} earlier request${told.earlier === 1 ? "" : "s"} like it on the same cards. Beside: ${told.engines} other engine${told.engines === 1 ? "" : "s"} of the model then. Clocks: ${[...new Set(Object.values(told.clocks))].join("; ") || "unknown"}.`;
}

function nothing(trace: Trace): string {
  const node = trace.evidence?.node || "its node";
  return `No counter of ${node} was read in that time; otel-attrib agent on ${node} reads what that machine has.`;
}
