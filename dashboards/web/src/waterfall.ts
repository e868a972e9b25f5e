// One request as a waterfall: stages to scale, what no stage explains, and beside each what is usual.
import type { Trace, WhyTrace } from "./bodies";
import { el, fill, svg, type Child } from "./element";
import { axis, milliseconds, percent, signed } from "./number";
import { fillOf } from "./pattern";
import { heads } from "./table";

export type Domain = [number, number]; // ms from the arrival

export interface Bar {
  name: string;
  from: number;
  ms: number | null;
  share: number | null;
  fill: string;
  note?: string;
}

export function barsOf(trace: Trace): Bar[] {
  const stages = trace.stages.map((stage) => ({
    name: stage.stage,
    from: stage.offset_us / 1000,
    ms: stage.us === null ? null : stage.us / 1000,
    share: stage.share,
    fill: `stage-${stage.stage}`,
  }));
  const [ttft, e2e] = [trace.ttft_us, number(trace.request.e2e_us)];
  if (ttft === null || e2e === null || e2e <= ttft) return stages;
  const decode = Object.entries(trace.decode).map(([name, us]) => `${name} ${milliseconds(us / 1000)}`).join(", ");
  return [...stages, { name: "decode", from: ttft / 1000, ms: (e2e - ttft) / 1000, share: null, fill: "stage-decode", ...(decode ? { note: `each token, ms: ${decode}` } : {}) }];
}

export class Waterfall {
  readonly node: HTMLElement;
  private readonly body = el("tbody");
  private usual: WhyTrace | null = null;

  constructor(
    private readonly trace: Trace,
    private domain: Domain,
  ) {
    const head: [string, string][] = [["stage", ""], ["", "bar"], ["ms", "num"], ["share", "num wide"], ["usual ms", "num wide"], ["more", "num wide"], ["z", "num wide"]];
    const caption = el("caption", null, `Stages, from ${trace.measured_from} at 0 ms`);
    this.node = el("table", { class: "bars waterfall" }, caption, heads(head), this.body);
    this.draw();
  }

  to(domain: Domain): void {
    this.domain = domain;
    this.draw();
  }

  beside(usual: WhyTrace): void {
    this.usual = usual;
    this.draw();
  }

  // Where the bars lie, so that what stands below shares their axis: px from the left edge, and width.
  place(): [number, number] {
    const cell = this.body.querySelector("td.bar svg");
    if (!cell) return [0, 0];
    const [outer, inner] = [this.node.getBoundingClientRect(), cell.getBoundingClientRect()];
    return [inner.left - outer.left, inner.width];
  }

  private draw(): void {
    const neighbours: Bar[] = this.trace.neighbours
      .filter((each) => !each.other_clock)
      .map((each) => ({ name: `${each.service}: ${each.name}`, from: each.offset_us / 1000, ms: each.duration_us / 1000, share: null, fill: "workload" }));
    fill(this.body, [...barsOf(this.trace), ...neighbours].map((bar) => this.row(bar)), this.whole());
  }

  private row(bar: Bar): Child {
    const usual = this.usual?.stages.find((stage) => stage.stage === bar.name);
    const cells = bar.ms === null ? ["not observed", "", "", "", ""] : [milliseconds(bar.ms), bar.share === null ? "" : percent(bar.share), typical(usual?.typical_ms), usual ? signed(usual.excess_ms) : "", usual && usual.z !== null ? zed(usual.z) : ""];
    const row = el(
      "tr",
      null,
      el("th", { scope: "row", title: bar.note }, bar.name),
      el("td", { class: "bar" }, this.bar(bar)),
      ...cells.map((text, at) => el("td", { class: `num${at ? " wide" : ""}${at === 4 && (usual?.z ?? 0) >= 3 ? " strong" : ""}` }, text)),
    );
    const notes = [bar.note, usual?.hint && (usual.z === null || usual.z >= 3) ? usual.hint : ""].filter(Boolean);
    return [row, notes.length ? el("tr", { class: "note" }, el("td"), el("td", { colspan: 6 }, notes.join("; "))) : null];
  }

  private whole(): Child {
    if (this.trace.ttft_us === null) return null;
    const told = this.usual;
    const cells = [milliseconds(this.trace.ttft_us / 1000), "", typical(told?.metric === "ttft" ? told.typical_ms : null), told?.metric === "ttft" && told.excess_ms !== null ? signed(told.excess_ms) : "", ""];
    return el("tr", { class: "sum" }, el("th", { scope: "row" }, "TTFT"), el("td", { class: "bar" }, this.scale()), ...cells.map((text, at) => el("td", { class: `num${at ? " wide" : ""}` }, text)));
  }

  private share(ms: number): number {
    return (100 * (ms - this.domain[0])) / (this.domain[1] - this.domain[0]);
  }

  private bar(bar: Bar): SVGSVGElement {
    const node = svg("svg", { width: "100%", height: 20, "aria-hidden": true });
    for (const tick of this.ticks()) node.append(svg("line", { x1: `${this.share(tick)}%`, x2: `${this.share(tick)}%`, y1: 0, y2: 20, class: "gridline" }));
    if (bar.ms === null) return node;
    const width = Math.max(this.share(bar.from + bar.ms) - this.share(bar.from), bar.ms > 0 ? 0.15 : 0);
    node.append(svg("rect", { x: `${this.share(bar.from).toFixed(3)}%`, y: 3, width: `${width.toFixed(3)}%`, height: 14, fill: fillOf(bar.fill), class: "box" }));
    return node;
  }

  private scale(): SVGSVGElement {
    const labels = this.ticks().map((tick) => svg("text", { x: `${this.share(tick)}%`, y: 14, class: "tick", "text-anchor": this.share(tick) < 4 ? "start" : this.share(tick) > 96 ? "end" : "middle" }, axis0(tick)));
    return svg("svg", { width: "100%", height: 20, "aria-hidden": true }, ...labels);
  }

  private ticks(): number[] {
    const length = this.domain[1] - this.domain[0];
    const raw = length / 5;
    const size = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((first) => first * size).find((each) => each >= raw) ?? raw;
    const ticks = [];
    for (let at = Math.ceil(this.domain[0] / step) * step; at <= this.domain[1] + 1e-9; at += step) ticks.push(Math.abs(at) < 1e-9 ? 0 : at);
    return ticks;
  }
}

function axis0(ms: number): string {
  return ms === 0 ? "0" : ms < 0 ? `-${axis(-ms)}` : axis(ms);
}

function typical(ms: number | null | undefined): string {
  return ms === null || ms === undefined ? "" : milliseconds(ms);
}

function zed(z: number): string {
  return `${z >= 0 ? "+" : ""}${Math.abs(z) >= 1000 ? z.toFixed(0) : z.toFixed(1)}`;
}

export function number(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
