// Incidents, as the watch judged them; each with its report, as it stood then.
import { answer, command } from "./answer";
import { cancelled, get } from "./api";
import type { Page, ReportItem } from "./bodies";
import { copy } from "./copy";
import { el, fill, type Child } from "./element";
import { ago, rfc3339, stamp } from "./moment";
import { milliseconds } from "./number";
import { go, href, read, type Route } from "./route";
import { busy, says, trouble } from "./says";
import { heads, scrolled } from "./table";
import { layerTitle, pairs, quantileTitle, words } from "./word";

const STATES: Record<string, [sign: string, text: string]> = {
  open: ["■", "open"],
  small: ["▲", "small"],
  over: ["✓", "over"],
  lasting: ["◇", "the new normal"],
};

// The last row of each incident, newest first.
export function latest(items: ReportItem[]): ReportItem[] {
  const found = new Map<string, ReportItem>();
  for (const item of items) {
    const known = found.get(item.incident);
    if (!known || item.time > known.time) found.set(item.incident, item);
  }
  return [...found.values()].sort((a, b) => (a.time < b.time ? 1 : -1));
}

export class ReportsView {
  readonly node = el("div", { class: "view" });
  readonly title = "Incidents";
  private readonly stop = new AbortController();
  private readonly items: ReportItem[] = [];

  show(): void {
    if (this.node.childElementCount === 0) void this.load(null);
  }

  leave(): void {
    this.stop.abort();
  }

  private async load(cursor: string | null): Promise<void> {
    if (!cursor) fill(this.node, el("section", { class: "card" }, busy("Looking up incidents…")));
    try {
      const page = await get<Page<ReportItem>>("reports", { limit: 200, cursor: cursor ?? "" }, this.stop.signal);
      this.items.push(...page.items);
      this.draw(page.next);
    } catch (fault) {
      if (!cancelled(fault)) fill(this.node, el("section", { class: "card" }, trouble(fault, () => void this.load(cursor))));
    }
  }

  private draw(next: string | null): void {
    const all = latest(this.items);
    const body = all.length ? list(all) : says("No incident is on record.", "Incidents are found by ", el("code", null, "otel-attrib watch"), ", which keeps one report for each; nothing has raised an alarm since it runs, or it does not run.");
    fill(this.node, el("section", { class: "card" }, el("h2", { tabindex: -1 }, "Incidents"), body, next ? el("button", { type: "button", onclick: () => void this.load(next) }, "Earlier ones") : null));
  }
}

function list(items: ReportItem[]): HTMLElement {
  const head: [string, string][] = [["state", ""], ["since (UTC)", ""], ["what", ""], ["verdict", ""], ["change ms", "num"], ["who", ""], ["last judged", ""]];
  const rows = items.map((item) =>
    el(
      "tr",
      null,
      el("td", null, stateOf(item.state)),
      el("th", { scope: "row" }, el("a", { href: href(`reports/${item.incident}`) }, stamp(new Date(item.onset)))),
      el("td", null, `${quantileTitle(item.quantile)} ${item.metric.toUpperCase()}`),
      el("td", null, item.verdict, item.layer ? `: ${layerTitle(item.layer)}` : ""),
      el("td", { class: "num strong" }, item.delta_ms === null ? "–" : milliseconds(item.delta_ms, true)),
      el("td", null, pairs(Object.keys(item.where).length ? item.where : { service: item.service, model: item.model })),
      el("td", { class: "dim" }, ago(new Date(item.time))),
    ),
  );
  return scrolled("Incidents", el("table", { class: "list" }, heads(head), el("tbody", null, ...rows)));
}

function stateOf(name: string): HTMLElement {
  const [sign, text] = STATES[name] ?? ["○", name];
  return el("span", { class: `state ${name}` }, el("span", { "aria-hidden": true }, sign), ` ${text}`);
}

export class ReportView {
  readonly node = el("div", { class: "view" });
  title = "Incident";
  private readonly stop = new AbortController();
  private key = "";

  show(route: Route): void {
    const key = `${route.name} ${route.params.get("as_of") ?? ""}`;
    if (this.key === key) return;
    this.key = key;
    void this.load(route);
  }

  leave(): void {
    this.stop.abort();
  }

  private async load(route: Route): Promise<void> {
    fill(this.node, el("section", { class: "card" }, busy("Looking up the incident…")));
    try {
      const { items } = await get<Page<ReportItem>>(`reports/${encodeURIComponent(route.name)}`, {}, this.stop.signal);
      this.draw([...items].sort((a, b) => (a.time < b.time ? 1 : -1)), route);
    } catch (fault) {
      if (!cancelled(fault)) fill(this.node, el("section", { class: "card" }, trouble(fault, () => void this.load(route)), el("p", null, el("a", { href: "#/reports" }, "All incidents"))));
    }
  }

  private draw(rows: ReportItem[], route: Route): void {
    const chosen = rows.find((row) => row.time === route.params.get("as_of")) ?? rows.find((row) => row.report) ?? rows[0];
    if (!chosen?.report) return fill(this.node, el("section", { class: "card" }, says("This incident has no report.", el("a", { href: "#/reports" }, "All incidents"))));
    const { report } = chosen;
    const where = words(report.checks.where ?? chosen.where);
    const there = href("why", { metric: report.metric, quantile: report.quantile === 0.99 ? "" : String(report.quantile), where, window: `${report.current.from}..${report.current.to}`, baseline: `${report.baseline.from}..${report.baseline.to}`, ...around(report.baseline.from, report.current.to) });
    fill(
      this.node,
      el(
        "section",
        { class: "card attribution" },
        el("p", { class: "row" }, stateOf(rows[0]!.state), el("span", null, `since ${stamp(new Date(chosen.onset))} UTC, ${ago(new Date(chosen.onset))}`), judged(rows, chosen, route)),
        answer(report, [el("a", { class: "button primary", href: there }, "Show it on the map"), copy("Copy as command", () => command(report, `${report.baseline.from}..${report.baseline.to}`, read(there))), copy("Copy link", () => location.href), el("a", { href: "#/reports" }, "All incidents")]),
      ),
    );
  }
}

function around(from: string, to: string): Record<string, string> {
  const [low, high] = [Date.parse(from), Date.parse(to)];
  const room = 0.1 * (high - low);
  return { from: rfc3339(new Date(Math.floor((low - room) / 1000) * 1000)), to: rfc3339(new Date(Math.ceil((high + room) / 1000) * 1000)) };
}

function judged(rows: ReportItem[], chosen: ReportItem, route: Route): Child {
  if (rows.length < 2) return null;
  const select = el("select", { id: "as-of", onchange: () => go(href(`reports/${route.name}`, { as_of: select.value })) }, ...rows.map((row) => el("option", { value: row.time, selected: row === chosen }, `${stamp(new Date(row.time))} ${STATES[row.state]?.[1] ?? row.state}`)));
  return el("span", { class: "field push" }, el("label", { for: "as-of" }, "as judged at"), select);
}
