// The requests behind a cell or a window, slowest first, a page at a time.
import { cancelled, get } from "./api";
import type { Metric, Page, RequestItem } from "./bodies";
import { el, fill, svg } from "./element";
import { clock, day } from "./moment";
import { count, milliseconds } from "./number";
import { fillOf } from "./pattern";
import { href, type Query } from "./route";
import { busy, says, trouble } from "./says";
import { heads, scrolled } from "./table";

const PAGE = 25;
const STAGES = ["ingress", "tokenize", "queue", "kv_init", "prefill", "sample", "egress", "outside"];

export function requests(title: string, query: Query, metric: Metric, closed: () => void, signal: AbortSignal): HTMLElement {
  const body = el("tbody");
  const state = el("div");
  const table = el("table", { class: "list", hidden: true }, el("caption", { class: "unseen" }, title), head(metric), body);
  const node = el(
    "section",
    { class: "card requests", "aria-label": title },
    el("div", { class: "row title" }, el("h2", { tabindex: -1 }, title), el("button", { type: "button", class: "push", onclick: closed, "aria-label": "Close the list of requests" }, "Close")),
    scrolled("Requests", table),
    legend(),
    state,
  );
  void more(null);
  return node;

  async function more(cursor: string | null): Promise<void> {
    fill(state, busy("Looking up the requests…"));
    try {
      const page = await get<Page<RequestItem>>("requests", { ...query, order: "slowest", limit: PAGE, cursor: cursor ?? "" }, signal);
      show(page);
    } catch (fault) {
      if (!cancelled(fault)) fill(state, trouble(fault, () => void more(cursor)));
    }
  }

  function show(page: Page<RequestItem>): void {
    const longest = Math.max(...page.items.map((item) => value(item, metric) ?? 0), Number(table.dataset.longest ?? 0));
    table.dataset.longest = String(longest);
    body.append(...page.items.map((item) => row(item, metric, longest)));
    table.hidden = body.childElementCount === 0;
    if (table.hidden) fill(state, says("No request is stored here.", "The cell may have been counted from requests that have been deleted since, or the filter leaves none."));
    else fill(state, el("p", { class: "row" }, el("span", { class: "dim", role: "status" }, `${count(body.childElementCount)} shown, slowest first`), page.next ? el("button", { type: "button", onclick: () => void more(page.next) }, "More") : null));
  }
}

function legend(): HTMLElement {
  const swatch = (name: string): SVGSVGElement => svg("svg", { width: 14, height: 12, "aria-hidden": true }, svg("rect", { width: 14, height: 12, fill: fillOf(`stage-${name}`) }));
  return el("p", { class: "legend" }, STAGES.map((name) => el("span", { class: "swatch" }, swatch(name), name)));
}

function head(metric: Metric): HTMLElement {
  const names: [string, string][] = [["request", ""], ["at (UTC)", ""], [metric === "tbt" ? "longest gap ms" : `${metric.toUpperCase()} ms`, "num"], ["stages to the first token", "bar"], [metric === "e2e" ? "TTFT ms" : "E2E ms", "num"], ["prompt", "num"], ["output", "num"], ["model", ""], ["tenant", ""], ["node", ""], ["status", ""]];
  return heads(names);
}

function value(item: RequestItem, metric: Metric): number | null {
  if (item.value_ms !== undefined) return item.value_ms;
  return metric === "ttft" ? item.ttft_ms : metric === "e2e" ? item.e2e_ms : item.tpot_ms;
}

function row(item: RequestItem, metric: Metric, longest: number): HTMLTableRowElement {
  const at = new Date(item.time);
  const ms = (number: number | null): string => (number === null ? "–" : milliseconds(number));
  const cell = (text: string, kind = ""): HTMLElement => el("td", { class: kind }, text);
  return el(
    "tr",
    null,
    el("th", { scope: "row" }, el("a", { class: "mono", href: href(`trace/${item.trace_id || item.request_id}`, { metric }), title: item.trace_id }, (item.trace_id || item.request_id).slice(0, 12))),
    el("td", { title: day(at) }, `${clock(at)}.${String(at.getUTCMilliseconds()).padStart(3, "0")}`),
    cell(ms(value(item, metric)), "num strong"),
    el("td", { class: "bar" }, stages(item, metric === "ttft" ? longest : (item.ttft_ms ?? 0))),
    cell(ms(metric === "e2e" ? item.ttft_ms : item.e2e_ms), "num"),
    cell(item.prompt_tokens === null ? "–" : count(item.prompt_tokens), "num"),
    cell(item.output_tokens === null ? "–" : count(item.output_tokens), "num"),
    cell(item.model),
    cell(item.tenant),
    cell(item.node),
    cell(item.status, item.status === "ok" ? "" : "bad"),
  );
}

function stages(item: RequestItem, whole: number): SVGSVGElement {
  const told = STAGES.filter((name) => (item.stages_ms[name] ?? 0) > 0);
  let at = 0;
  const rects = told.map((name) => {
    const width = (100 * (item.stages_ms[name] ?? 0)) / (whole || 1);
    at += width;
    return svg("rect", { x: `${(at - width).toFixed(2)}%`, width: `${width.toFixed(2)}%`, y: 3, height: 12, fill: fillOf(`stage-${name}`) });
  });
  const label = told.map((name) => `${name} ${milliseconds(item.stages_ms[name]!)} ms`).join(", ");
  return svg("svg", { width: "100%", height: 18, role: "img", "aria-label": label || "no stage observed" }, svg("title", null, label), ...rects);
}
