// The first view: heat map, the window chosen on it, why it is slower, and the requests behind it.
import { cancelled, get } from "./api";
import { ask } from "./ask";
import type { Heatmap, Page, RequestItem, Why } from "./bodies";
import { el, fill } from "./element";
import { heat } from "./heat";
import { HeatPick, written, type Span } from "./heatpick";
import { HeatScale } from "./heatscale";
import { heatTable } from "./heattable";
import { LiveSwitch } from "./liveswitch";
import { rfc3339, span, stamp, window as ends } from "./moment";
import { axis, count } from "./number";
import { requests } from "./requests";
import { go, href, type Route } from "./route";
import { busy, says, trouble } from "./says";
import { asked, changed, Controls, lastHourUpTo, ranged, watched, type Watched } from "./watched";
import { quantileTitle } from "./word";

export class MapView {
  readonly node = el("div", { class: "view" });
  readonly title = "Latency";
  private params = new URLSearchParams();
  private readonly stop = new AbortController();
  private readonly controls: Controls;
  private readonly live: LiveSwitch;
  private readonly picking = new HeatPick({
    window: (span, which) => this.choose(span, which),
    cell: (span, band) => this.list(span, band),
    cleared: () => this.to({ window: "", baseline: "", rows: "", above_ms: "", below_ms: "" }),
  });
  private readonly canvas = el("div", { class: "canvas", "aria-hidden": true });
  private readonly summary = el("p", { class: "summary", id: "map-summary" });
  private readonly level = el("span");
  private readonly brush = el("div", { class: "segmented small", role: "radiogroup", "aria-label": "Dragging chooses" });
  private readonly over = el("div", { class: "over" });
  private readonly table = el("div", { class: "scroll short", hidden: true, tabindex: 0, role: "region", "aria-label": "The numbers of the heat map" });
  private readonly answer = el("div");
  private readonly rows = el("div");
  private readonly drawn: ReturnType<typeof heat>;
  private scale: HeatScale | null = null;
  private keys = { map: "", answer: "", rows: "" };
  private parts = { map: new AbortController(), answer: new AbortController(), rows: new AbortController() };
  private marked: { window: Span | null; baseline: Span | null } = { window: null, baseline: null };

  constructor() {
    const { signal } = this.stop;
    this.live = new LiveSwitch(() => this.renew(), signal);
    this.controls = new Controls(signal);
    const tabled = el("button", { type: "button", "aria-expanded": "false", onclick: () => this.toggle(tabled) }, "Table");
    const box = el("div", { class: "chart heat" }, this.canvas, this.picking.node, this.over);
    fill(
      this.node,
      this.controls.node,
      el("section", { class: "card", "aria-label": "Latency heat map" }, el("div", { class: "row title" }, this.summary, el("span", { class: "push row" }, this.live.node, this.brush, tabled)), box, this.legend(), this.table),
      this.answer,
      this.rows,
    );
    this.picking.node.addEventListener("which", () => this.brushes());
    this.brushes();
    this.drawn = heat(this.canvas, signal);
  }

  show(route: Route): void {
    this.params = route.params;
    const now = watched(this.params);
    this.widen(now);
    this.controls.show(this.params, now);
    this.live.show(this.params, now);
    this.fresh("map", JSON.stringify([asked(now), ranged(now)]), (signal) => void this.load(now, signal));
    const question = this.question(now);
    this.fresh("answer", question ? JSON.stringify(question) : "", (signal) => this.ask(question, signal));
    const listed = ["rows", "above_ms", "below_ms"].map((name) => this.params.get(name) ?? "");
    this.fresh("rows", listed[0] ? JSON.stringify([listed, asked(now)]) : "", (signal) => this.open(now, listed, signal));
    if (!question) this.marks(null, null);
  }

  leave(): void {
    this.stop.abort();
    for (const part of Object.values(this.parts)) part.abort();
  }

  // Does the work of a part when what it shows has changed, and calls off what was going on.
  private fresh(part: "map" | "answer" | "rows", key: string, work: (signal: AbortSignal) => void): void {
    if (this.keys[part] === key) return;
    this.keys[part] = key;
    this.parts[part].abort();
    this.parts[part] = new AbortController();
    if (part !== "map") fill(this[part]);
    if (key) work(this.parts[part].signal);
  }

  // A link from an alert names windows and no range: the range then shows both.
  private widen(now: Watched): void {
    const chosen = ends(this.params.get("window") ?? "");
    if (!chosen || this.params.has("last") || this.params.has("from")) return;
    const [from, to] = chosen.map((end) => end.getTime()) as Span;
    const before = ends(this.params.get("baseline") ?? "")?.[0].getTime() ?? from - 2 * (to - from);
    now.last = "";
    now.from = rfc3339(new Date(Math.min(before, from - (to - from))));
    now.to = rfc3339(new Date(to + (to - from) / 2));
  }

  private async load(now: Watched, signal: AbortSignal, quietly = false): Promise<void> {
    if (!quietly) fill(this.over, busy("Counting requests…"));
    try {
      const map = await get<Heatmap>("heatmap", { ...asked(now), ...ranged(now) }, signal);
      if (map.n === 0) return await this.empty(now, signal);
      this.draw(map);
    } catch (fault) {
      if (!cancelled(fault) && !quietly) fill(this.over, trouble(fault, () => void this.load(now, signal)));
    }
  }

  private draw(map: Heatmap): void {
    this.scale = new HeatScale(map);
    fill(this.over);
    this.drawn.show(this.scale);
    this.picking.show(this.scale, this.marked);
    const from = new Date(this.scale.from);
    this.summary.textContent = `${map.metric.toUpperCase()} of ${count(map.n)} ${map.metric === "tbt" ? "gaps" : "requests"}, ${span(from, new Date(this.scale.to))}`;
    if (!this.table.hidden) fill(this.table, heatTable(this.scale));
    this.level.textContent = quantileTitle(map.quantile);
    performance.mark("heat map drawn");
  }

  private async empty(now: Watched, signal: AbortSignal): Promise<void> {
    this.summary.textContent = "No requests";
    const filtered = now.where.length > 0;
    const newest = await get<Page<RequestItem>>("requests", { metric: now.metric, order: "newest", limit: 1, window: "3650d", where: now.where }, signal).catch(() => null);
    const last = newest?.items[0];
    if (!last) {
      const advice = filtered ? "Remove a filter to see others." : ["Point an exporter at it, or see it work on recorded data: ", el("code", null, "otel-attrib demo --replay")];
      fill(this.over, says(filtered ? "No stored request passes these filters." : "Nothing is stored yet.", advice));
      return;
    }
    const there = href("", changed(this.params, lastHourUpTo(new Date(last.time))));
    fill(this.over, says("No request arrived in this range.", `The newest is of ${stamp(new Date(last.time))} UTC. `, el("a", { href: there }, "Show the hour up to it")));
  }

  // Live: the numbers anew, while the person stays where she is.
  private renew(): void {
    const now = watched(this.params);
    if (now.last) void this.load(now, this.parts.map.signal, true);
  }

  private question(now: Watched): Record<string, string | string[]> | null {
    const window = this.params.get("window");
    if (!window) return null;
    const words: Record<string, string | string[]> = { ...asked(now), window };
    for (const name of ["baseline", "at"]) if (this.params.get(name)) words[name] = this.params.get(name)!;
    return words;
  }

  private ask(query: Record<string, string | string[]> | null, signal: AbortSignal): void {
    if (!query) return;
    this.marks(spanOf(this.params.get("window")), spanOf(this.params.get("baseline")));
    const listed = (why: Why): void => this.to({ rows: `${why.current.from}..${why.current.to}`, above_ms: "", below_ms: "" });
    const answered = (why: Why): void => this.marks([Date.parse(why.current.from), Date.parse(why.current.to)], [Date.parse(why.baseline.from), Date.parse(why.baseline.to)]);
    const closed = (): void => {
      this.to({ window: "", baseline: "" });
      this.picking.node.focus();
    };
    fill(this.answer, ask({ query, baseline: this.params.get("baseline") ?? "", answered, listed, closed }, signal));
  }

  private open(now: Watched, [rows = "", above = "", below = ""]: string[], signal: AbortSignal): void {
    const chosen = ends(rows);
    if (!chosen) return fill(this.rows, says("This link names no window of requests.", "rows=FROM..TO, both in RFC 3339."));
    const band = above && below ? `, ${axis(Number(above))} to ${axis(Number(below))}` : above ? `, above ${axis(Number(above))}` : "";
    const closed = (): void => {
      this.to({ rows: "", above_ms: "", below_ms: "" });
      this.picking.node.focus();
    };
    const words = { metric: now.metric, where: now.where, from: rfc3339(chosen[0]), to: rfc3339(chosen[1]), above_ms: above, below_ms: below };
    const list = requests(`Requests, ${span(...chosen)}${band}`, words, now.metric, closed, signal);
    fill(this.rows, list);
    (list.querySelector("h2") as HTMLElement).focus({ preventScroll: true });
    list.scrollIntoView({ block: "nearest" });
  }

  private marks(window: Span | null, baseline: Span | null): void {
    this.marked = { window, baseline };
    if (this.scale) this.picking.mark(this.marked);
  }

  private choose(chosen: Span, which: "window" | "baseline"): void {
    this.picking.which = "window";
    this.brushes();
    if (which === "baseline" && !this.params.get("window")) this.marks(null, chosen);
    this.to({ [which]: written(chosen) });
  }

  private list(span: Span, [low, high]: [number, number]): void {
    this.to({ rows: written(span), above_ms: low > 0 ? String(low) : "", below_ms: Number.isFinite(high) ? String(high) : "" });
  }

  private to(words: Record<string, string>): void {
    const next = changed(this.params, words);
    go(href(next.has("window") ? "why" : "", next));
  }

  private brushes(): void {
    const radio = (which: "window" | "baseline"): HTMLElement =>
      el("label", null, el("input", { type: "radio", name: "brush", checked: this.picking.which === which, onchange: () => (this.picking.which = which) }), el("span", null, which));
    fill(this.brush, radio("window"), radio("baseline"));
  }

  private toggle(button: HTMLElement): void {
    this.table.hidden = !this.table.hidden;
    button.setAttribute("aria-expanded", String(!this.table.hidden));
    if (!this.table.hidden && this.scale) fill(this.table, heatTable(this.scale));
  }

  private legend(): HTMLElement {
    return el(
      "p",
      { class: "legend" },
      el("span", { class: "key line", "aria-hidden": true }),
      this.level,
      el("span", { class: "key ramp", "aria-hidden": true }),
      "few to many requests ",
      el("span", { class: "hint" }, "Drag to ask why a window is slower; click a cell for its requests; ", el("kbd", null, "?"), " shows the keys."),
    );
  }
}

function spanOf(text: string | null): Span | null {
  const found = ends(text ?? "");
  return found ? [found[0].getTime(), found[1].getTime()] : null;
}

