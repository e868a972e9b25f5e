// Objectives: how much was attained, how much of the error budget is left, how fast it burns.
import { cancelled, get } from "./api";
import type { Objective, Page } from "./bodies";
import { axisLook, chart, place, type Option } from "./chart";
import { el, fill, svg, type Child } from "./element";
import { clock, day, duration, stamp } from "./moment";
import { count, digits, fine, percent } from "./number";
import { href, type Route } from "./route";
import { busy, says, trouble } from "./says";
import { heads, numbered, scrolled } from "./table";
import { color } from "./theme";
import { pairs, words } from "./word";

const STATES: Record<string, [sign: string, text: string]> = {
  ok: ["✓", "ok"],
  warn: ["▲", "burns too fast"],
  page: ["■", "wakes somebody"],
  "no data": ["○", "no data"],
};

export class SlosView {
  readonly node = el("div", { class: "view" });
  readonly title = "Objectives";
  private readonly stop = new AbortController();

  show(): void {
    if (this.node.childElementCount === 0) void this.load();
  }

  leave(): void {
    this.stop.abort();
  }

  private async load(): Promise<void> {
    fill(this.node, el("section", { class: "card" }, busy("Counting what was good…")));
    try {
      const { items } = await get<Page<Objective>>("slo", {}, this.stop.signal);
      fill(this.node, el("section", { class: "card" }, el("h2", { tabindex: -1 }, "Objectives"), items.length ? table(items) : none()));
    } catch (fault) {
      if (!cancelled(fault)) fill(this.node, el("section", { class: "card" }, el("h2", { tabindex: -1 }, "Objectives"), trouble(fault, () => void this.load())));
    }
  }
}

function none(): HTMLElement {
  return says("No objective is set.", "Name a file or folder of OpenSLO YAML with the setting ", el("code", null, "slo"), " (", el("code", null, "OTEL_ATTRIB_SLO"), "); ", el("code", null, "otel-attrib slo derive"), " proposes limits from what is stored.");
}

function table(items: Objective[]): HTMLElement {
  const head: [string, string][] = [["state", ""], ["objective", ""], ["limits", ""], ["target", "num"], ["attained", "num"], ["error budget left", "bar"], ["burn rate", ""], ["window", "num"]];
  return scrolled("Objectives", el("table", { class: "list slos" }, heads(head), el("tbody", null, ...items.map(row))));
}

function row(each: Objective): HTMLElement {
  return el(
    "tr",
    null,
    el("td", null, state(each.state)),
    el("th", { scope: "row" }, el("a", { href: href(`slo/${encodeURIComponent(each.name)}`) }, each.title || each.name), el("div", { class: "dim" }, [each.class, pairs(each.where)].filter(Boolean).join(" · "))),
    el("td", null, limits(each)),
    el("td", { class: "num" }, percent1(each.target)),
    el("td", { class: "num" }, attained(each)),
    el("td", { class: "bar" }, budget(each.budget_left)),
    el("td", null, burns(each)),
    el("td", { class: "num" }, duration(each.window_s)),
  );
}

function state(name: string): HTMLElement {
  const [sign, text] = STATES[name] ?? ["○", name];
  return el("span", { class: `state ${name.replace(" ", "-")}` }, el("span", { "aria-hidden": true }, sign), ` ${text}`);
}

function limits(each: Objective): string {
  return each.limits.map((limit) => `${limit.metric.toUpperCase()} ≤ ${digits(limit.ms)} ms`).join(each.joint ? " and " : ", ");
}

function attained(each: Objective): Child {
  if (each.attained === null) return "–";
  const marginal = Object.entries(each.marginal ?? {}).filter((pair): pair is [string, number] => pair[1] !== null);
  const name = each.joint ? "joint" : marginal.length > 1 ? "worst of each" : "";
  return [el("b", null, fine(each.attained)), name ? el("span", { class: "dim" }, ` ${name}`) : null, marginal.length > 1 ? el("div", { class: "dim" }, marginal.map(([metric, share]) => `${metric.toUpperCase()} ${fine(share)}`).join(", ")) : null];
}

function budget(left: number | null): Child {
  if (left === null) return "–";
  const width = 100 * Math.max(0, Math.min(1, left));
  const tone = left <= 0 ? "spent" : left < 0.25 ? "low" : "fine";
  return el("span", { class: "budget" }, svg("svg", { width: "100%", height: 14, "aria-hidden": true }, svg("rect", { width: "100%", height: 14, class: "budget-all" }), svg("rect", { width: `${width}%`, height: 14, class: `budget-left ${tone}` })), el("span", { class: "num" }, left < 0 ? `overspent by ${percent(-left)}` : percent(left)));
}

function burns(each: Objective): HTMLElement {
  const told = each.burn.filter((burn) => burn.rate !== null);
  return el("span", { class: "burns" }, told.length ? told.map((burn) => el("span", { class: burn.rate! > 1 ? "burn fast" : "burn" }, el("span", { class: "dim" }, `${duration(burn.window_s)} `), `${digits(burn.rate!)}×`)) : "–");
}

function percent1(share: number): string {
  return `${Number((100 * share).toPrecision(6))} %`;
}

export class SloView {
  readonly node = el("div", { class: "view" });
  title = "Objective";
  private readonly stop = new AbortController();
  private key = "";

  show(route: Route): void {
    if (this.key === route.name) return;
    this.key = route.name;
    this.title = route.name;
    void this.load(route.name);
  }

  leave(): void {
    this.stop.abort();
  }

  private async load(name: string): Promise<void> {
    fill(this.node, el("section", { class: "card" }, busy("Counting what was good…")));
    try {
      this.draw(await get<Objective>(`slo/${encodeURIComponent(name)}`, { history: "true" }, this.stop.signal));
    } catch (fault) {
      if (!cancelled(fault)) fill(this.node, el("section", { class: "card" }, trouble(fault, () => void this.load(name)), el("p", null, el("a", { href: "#/slo" }, "All objectives"))));
    }
  }

  private draw(each: Objective): void {
    const history = (each.history ?? []).filter((point) => point.total > 0);
    const box = el("div", { class: "chart history", role: "img", "aria-label": `Share of good requests over ${duration(each.window_s)}; the table below has the numbers` });
    const metric = each.limits[0]?.metric ?? "ttft";
    fill(
      this.node,
      el(
        "section",
        { class: "card" },
        el("h2", { tabindex: -1 }, each.title || each.name),
        table([each]),
        el("p", { class: "dim after" }, `${count(each.good)} of ${count(each.total)} requests were good: they met ${each.joint ? "every limit" : "the limit"} and did not fail.`),
        history.length ? [el("h3", null, "Good requests over time"), box, historyTable(each)] : el("p", { class: "dim" }, "No request of this objective is stored in its window."),
        el("p", { class: "row" }, el("a", { href: href("", { metric, where: words(each.where), last: "1h" }) }, "Latency of these requests"), el("a", { href: "#/slo" }, "All objectives")),
      ),
    );
    if (history.length) chart(box, () => lines(each, history), this.stop.signal);
  }
}

function lines(each: Objective, history: NonNullable<Objective["history"]>): Option {
  const shares = history.map((point) => [Date.parse(point.time), (100 * point.good) / point.total]);
  const low = Math.min(100 * each.target, ...shares.map(([, share]) => share!));
  return {
    grid: place({ left: 58, right: 14, top: 10, bottom: 26 }),
    xAxis: { type: "time", min: Date.parse(each.history![0]!.time), max: Date.now(), ...axisLook({ formatter: (time: number) => (each.window_s > 172_800 ? day(new Date(time)).slice(5) : clock(new Date(time), false)) }) },
    yAxis: { type: "value", min: Math.max(0, low - (100 - low) * 0.15), max: 100, splitNumber: 3, ...axisLook({ formatter: (share: number) => `${digits(share)} %` }) },
    series: [
      {
        type: "line",
        step: "end",
        silent: true,
        showSymbol: shares.length < 60,
        symbolSize: 5,
        lineStyle: { color: color("blue"), width: 2 },
        itemStyle: { color: color("blue") },
        data: shares,
        markLine: { silent: true, symbol: "none", lineStyle: { color: color("accent"), type: [4, 3], width: 1.5 }, label: { position: "insideEndBottom", formatter: "target", color: color("ink") }, data: [{ yAxis: 100 * each.target }] },
      },
    ],
  };
}

function historyTable(each: Objective): Child {
  const rows = [...(each.history ?? [])].reverse().map((point) => el("tr", null, el("th", { scope: "row" }, stamp(new Date(point.time))), el("td", { class: "num" }, count(point.good)), el("td", { class: "num" }, count(point.total)), el("td", { class: "num" }, point.total ? fine(point.good / point.total) : "–")));
  return el("details", null, el("summary", null, "The same as a table"), scrolled("History", el("table", { class: "list" }, heads(numbered(["from (UTC)", "good", "requests", "share"])), el("tbody", null, ...rows)), "scroll short"));
}
