// What is watched: latency, range and filters, as controls and as words of the address.
import { cancelled, get } from "./api";
import type { Metric, Quantiles } from "./bodies";
import { el, fill } from "./element";
import { rfc3339, seconds } from "./moment";
import { go, href } from "./route";
import { DEFINITIONS, METRICS, quantileTitle } from "./word";

export const RANGES = ["15m", "1h", "3h", "6h", "24h", "7d"] as const;
const LEVELS = [0.5, 0.9, 0.95, 0.99, 0.999];
const CHOOSERS = ["service", "model", "tenant"] as const;

export interface Watched {
  metric: Metric;
  quantile: number;
  last: string; // "" where from and to are given
  from: string;
  to: string;
  where: string[];
}

export function watched(params: URLSearchParams): Watched {
  const metric = params.get("metric") as Metric;
  const quantile = Number(params.get("quantile") ?? 0.99);
  const from = params.get("from") ?? "";
  const to = params.get("to") ?? "";
  return {
    metric: METRICS.includes(metric) ? metric : "ttft",
    quantile: quantile > 0 && quantile < 1 ? quantile : 0.99,
    last: from && to ? "" : (params.get("last") ?? "1h"),
    from,
    to,
    where: params.getAll("where"),
  };
}

// The words that every question of the page shares.
export function asked(now: Watched): Record<string, string | string[]> {
  return { metric: now.metric, ...(now.quantile === 0.99 ? {} : { quantile: String(now.quantile) }), where: now.where };
}

export function ranged(now: Watched): Record<string, string> {
  return now.last ? { last: now.last } : { from: now.from, to: now.to };
}

// The address with some words replaced; "" takes a word away.
export function changed(params: URLSearchParams, words: Record<string, string | string[]>): URLSearchParams {
  const next = new URLSearchParams(params);
  for (const [name, value] of Object.entries(words)) {
    next.delete(name);
    for (const each of Array.isArray(value) ? value : [value]) if (each) next.append(name, each);
  }
  return next;
}

const UNPICKED = { window: "", baseline: "", rows: "", above_ms: "", below_ms: "" };

export class Controls {
  readonly node = el("div", { class: "controls", role: "group", "aria-label": "What is watched" });
  private readonly choosers = new Map(CHOOSERS.map((name) => [name, el("select", { id: `by-${name}`, onchange: () => this.filter(name) })]));
  private readonly metrics = el("div", { class: "segmented", role: "radiogroup", "aria-label": "Latency" });
  private readonly level = el("select", { id: "quantile", onchange: () => this.to({ quantile: this.level.value === "0.99" ? "" : this.level.value }) });
  private readonly range = el("select", { id: "range", onchange: () => this.rangeTo(this.range.value) });
  private readonly chips = el("span", { class: "chips" });
  private readonly field = el("input", { id: "where", placeholder: "node=…", size: 14, spellcheck: "false", autocomplete: "off" });
  private params = new URLSearchParams();
  private known = "";

  constructor(private readonly signal: AbortSignal) {
    const add = (event: Event): void => {
      event.preventDefault();
      if (this.field.value.includes("=")) this.to({ where: [...this.params.getAll("where"), this.field.value.trim()] });
      this.field.value = "";
    };
    fill(
      this.node,
      this.metrics,
      label("quantile", "quantile", this.level),
      label("range", "range", this.range),
      [...this.choosers].map(([name, select]) => label(name, select.id, select)),
      el("form", { class: "field", onsubmit: add }, el("label", { for: "where" }, "where"), this.field),
      this.chips,
    );
  }

  show(params: URLSearchParams, now: Watched): void {
    this.params = params;
    const chosen = this.metrics.querySelector("input:checked") as HTMLInputElement | null;
    if (chosen?.value !== now.metric) fill(this.metrics, METRICS.map((name) => this.metric(name, now.metric)));
    const span = now.last || "chosen";
    const names = RANGES.includes(span as never) ? [...RANGES] : [span, ...RANGES];
    fill(this.range, names.map((name) => el("option", { value: name, selected: name === span }, name === "chosen" ? "as chosen" : `last ${name}`)));
    const levels = [...new Set([...LEVELS, now.quantile])].sort();
    fill(this.level, levels.map((level) => el("option", { value: level, selected: level === now.quantile }, quantileTitle(level))));
    this.chip(now.where);
    this.options();
    void this.know(now);
  }

  private metric(name: string, chosen: string): HTMLElement {
    const input = el("input", { type: "radio", name: "metric", value: name, checked: name === chosen, onchange: () => this.to({ metric: name, ...UNPICKED }) });
    return el("label", { title: DEFINITIONS[name] }, input, el("span", null, name.toUpperCase()));
  }

  private rangeTo(name: string): void {
    if (name !== "chosen") this.to({ last: name, from: "", to: "", at: "", ...UNPICKED });
  }

  private filter(name: string): void {
    const others = this.params.getAll("where").filter((word) => !word.startsWith(`${name}=`));
    const value = this.choosers.get(name as (typeof CHOOSERS)[number])!.value;
    this.to({ where: value ? [...others, `${name}=${value}`] : others });
  }

  private to(words: Record<string, string | string[]>): void {
    const next = changed(this.params, words);
    go(href(next.has("window") ? "why" : "", next));
  }

  // Filters that no select shows.
  private chip(where: string[]): void {
    const others = where.filter((word) => !CHOOSERS.some((name) => word.startsWith(`${name}=`)));
    const without = (word: string): void => this.to({ where: where.filter((each) => each !== word) });
    fill(this.chips, others.map((word) => el("button", { type: "button", class: "chip", onclick: () => without(word), "aria-label": `Remove filter ${word}` }, `${word} ×`)));
  }

  // The values there are, from the stored states; asked once a range.
  private async know(now: Watched): Promise<void> {
    const key = JSON.stringify([now.metric, ranged(now)]);
    if (key === this.known) return;
    this.known = key;
    try {
      const found = await get<Quantiles>("quantiles", { metric: now.metric, by: CHOOSERS.join(","), ...oneWindow(now) }, this.signal);
      for (const [name, select] of this.choosers) select.dataset.values = JSON.stringify([...new Set(found.points.map((point) => point[name] ?? ""))].sort());
      this.options();
    } catch (fault) {
      if (!cancelled(fault)) this.known = "";
    }
  }

  private options(): void {
    for (const [name, select] of this.choosers) {
      const chosen = this.params.getAll("where").filter((word) => word.startsWith(`${name}=`)).map((word) => word.slice(name.length + 1));
      const values = JSON.parse(select.dataset.values ?? "[]") as string[];
      const all = [...new Set([...values, ...chosen])].filter(Boolean);
      fill(select, el("option", { value: "" }, "all"), all.map((value) => el("option", { value, selected: chosen.includes(value) }, value)));
    }
  }
}

// One window over the whole range: its end is the first whole minute after the range.
function oneWindow(now: Watched): Record<string, string> {
  const end = Math.ceil((now.last ? Date.now() : Date.parse(now.to)) / 60_000) * 60_000;
  const length = Math.ceil((now.last ? 1000 * (seconds(now.last) ?? 3600) : end - Date.parse(now.from)) / 60_000) + 1;
  const around = [end - 1000, end + 1000].map((at) => rfc3339(new Date(at))).join("..");
  return { last: around, window: `${length}m`, step: "1m" };
}

function label(name: string, id: string, control: HTMLElement): HTMLElement {
  return el("span", { class: "field" }, el("label", { for: id }, name), control);
}

export function lastHourUpTo(time: Date): Record<string, string> {
  return { last: "", from: rfc3339(new Date(time.getTime() - 3_600_000)), to: rfc3339(new Date(time.getTime() + 1000)) };
}
