// Choosing on the heat map, by mouse, touch or keys alike: a cell, or a window of time.
import { el, fill } from "./element";
import { MARGINS, type HeatScale } from "./heatscale";
import { clock, rfc3339, stamp } from "./moment";
import { axis, count, milliseconds } from "./number";
import { quantileTitle } from "./word";

export type Span = [number, number]; // ms since 1970

export interface Picked {
  window(span: Span, which: "window" | "baseline"): void;
  cell(span: Span, band: [number, number]): void;
  cleared(): void;
}

const KEYS = "Arrow keys move. Shift with left or right chooses a window, B makes it the baseline. Enter lists the requests of a cell. Escape clears.";

export class HeatPick {
  readonly node: HTMLElement;
  private readonly band = { window: el("div", { class: "band window", hidden: true }), baseline: el("div", { class: "band baseline", hidden: true }) };
  private readonly cursor = el("div", { class: "cursor", hidden: true });
  private readonly tip = el("div", { class: "tip", hidden: true });
  private readonly told = el("div", { class: "unseen", "aria-live": "polite" });
  private scale: HeatScale | null = null;
  private column = 0;
  private bin = 0;
  private anchor: number | null = null;
  private dragged: { from: number; moved: boolean } | null = null;
  which: "window" | "baseline" = "window";

  constructor(private readonly picked: Picked) {
    const { left, right, top, bottom } = MARGINS;
    this.node = el(
      "div",
      {
        class: "pick",
        tabindex: 0,
        role: "application",
        "aria-roledescription": "heat map",
        "aria-label": `Latency heat map. ${KEYS}`,
        style: { left: `${left}px`, right: `${right}px`, top: `${top}px`, bottom: `${bottom}px` },
        onkeydown: (event: KeyboardEvent) => this.key(event),
        onkeyup: (event: KeyboardEvent) => event.key === "Shift" && this.commit(),
        onpointerdown: (event: PointerEvent) => this.down(event),
        onpointermove: (event: PointerEvent) => this.move(event),
        onpointerup: (event: PointerEvent) => this.up(event),
        onpointercancel: () => this.drop(),
        onpointerleave: () => this.dragged || this.hide(),
        onblur: () => this.hide(),
        onfocus: (event: FocusEvent) => (event.target as HTMLElement).matches(":focus-visible") && this.point(),
      },
      this.band.baseline,
      this.band.window,
      this.cursor,
      this.tip,
      this.told,
    );
  }

  show(scale: HeatScale, marked: { window: Span | null; baseline: Span | null }): void {
    const fresh = this.scale === null;
    this.scale = scale;
    this.mark(marked);
    if (fresh || this.column >= scale.columns()) this.home();
  }

  mark(marked: { window: Span | null; baseline: Span | null }): void {
    this.lay("window", marked.window);
    this.lay("baseline", marked.baseline);
  }

  // The cursor begins where it matters: the last column, at the line.
  private home(): void {
    const scale = this.scale!;
    this.column = Math.max(0, scale.columns() - 1);
    while (this.column > 0 && scale.map.quantile_ms[this.column] === null) this.column -= 1;
    this.bin = scale.bin(scale.up(scale.map.quantile_ms[this.column] ?? scale.low));
  }

  private lay(which: "window" | "baseline", span: Span | null): void {
    const { scale } = this;
    const node = this.band[which];
    node.hidden = !span || !scale || span[1] <= scale.from || span[0] >= scale.to;
    if (!span || !scale || node.hidden) return;
    const [left, right] = span.map((end) => Math.max(0, Math.min(1, scale.across(end)))) as Span;
    node.style.setProperty("left", `${100 * left}%`);
    node.style.setProperty("width", `${100 * (right - left)}%`);
    fill(node, el("span", null, which));
  }

  private key(event: KeyboardEvent): void {
    if (!this.scale || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1],
      PageUp: [0, 5], PageDown: [0, -5], Home: [-1e6, 0], End: [1e6, 0],
    };
    const move = moves[event.key];
    if (move) this.step(move, event.shiftKey);
    else if (event.key === "Enter" || event.key === " ") this.list();
    else if (event.key === "Escape") this.picked.cleared();
    else if (event.key.toLowerCase() === "b") this.turn();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private step([across, up]: [number, number], choosing: boolean): void {
    const scale = this.scale!;
    if (choosing && across) this.anchor ??= this.column;
    this.column = Math.max(0, Math.min(scale.columns() - 1, this.column + across));
    this.bin = Math.max(scale.firstBin, Math.min(scale.lastBin, this.bin + up));
    if (this.anchor !== null && choosing) this.lay(this.which, this.chosen(this.anchor));
    this.point();
  }

  private turn(): void {
    this.which = this.which === "window" ? "baseline" : "window";
    this.say(`Choosing the ${this.which}`);
    this.node.dispatchEvent(new CustomEvent("which", { bubbles: true }));
  }

  private commit(): void {
    if (this.anchor === null) return;
    const span = this.chosen(this.anchor);
    this.anchor = null;
    this.choose(span);
  }

  private choose(span: Span): void {
    this.say(`${this.which} ${stamp(new Date(span[0]))} to ${clock(new Date(span[1]))}`);
    this.picked.window(span, this.which);
  }

  private chosen(anchor: number): Span {
    const [first, last] = [Math.min(anchor, this.column), Math.max(anchor, this.column)];
    return [this.scale!.start(first), this.scale!.start(last + 1)];
  }

  private list(): void {
    const scale = this.scale!;
    this.picked.cell([scale.start(this.column), scale.start(this.column + 1)], scale.band(this.bin));
  }

  private at(event: PointerEvent): void {
    const box = this.node.getBoundingClientRect();
    this.column = this.scale!.column((event.clientX - box.left) / box.width);
    this.bin = this.scale!.bin(Math.max(0, Math.min(1, (box.bottom - event.clientY) / box.height)));
  }

  private down(event: PointerEvent): void {
    if (!this.scale || event.button !== 0) return;
    this.at(event);
    this.dragged = { from: this.column, moved: false };
    this.node.setPointerCapture(event.pointerId);
  }

  private move(event: PointerEvent): void {
    if (!this.scale) return;
    this.at(event);
    if (this.dragged && this.column !== this.dragged.from) this.dragged.moved = true;
    if (this.dragged?.moved) this.lay(this.which, this.chosen(this.dragged.from));
    this.point(false);
  }

  private up(event: PointerEvent): void {
    if (!this.scale || !this.dragged) return;
    this.at(event);
    const { from, moved } = this.dragged;
    this.dragged = null;
    if (moved) this.choose(this.chosen(from));
    else this.list();
  }

  private drop(): void {
    this.dragged = null;
    this.hide();
  }

  private hide(): void {
    this.cursor.hidden = true;
    this.tip.hidden = true;
  }

  private point(aloud = true): void {
    const { scale } = this;
    if (!scale || scale.columns() === 0) return;
    const [low, high] = scale.band(this.bin);
    const [left, right] = [scale.across(scale.start(this.column)), scale.across(scale.start(this.column + 1))];
    const [bottom, top] = [scale.up(Math.max(low, scale.low)), scale.up(Math.min(high, scale.high))];
    place(this.cursor, { left, bottom, width: right - left, height: top - bottom });
    this.cursor.hidden = false;
    const lines = this.lines(low, high);
    fill(this.tip, lines.map((line) => el("div", null, line)));
    this.tip.hidden = false;
    this.tip.classList.toggle("left", left > 0.7);
    this.tip.classList.toggle("below", top > 0.7);
    place(this.tip, { left: left > 0.7 ? left : right, bottom: top > 0.7 ? bottom : top });
    if (aloud) this.say(lines.join(", "));
  }

  private lines(low: number, high: number): string[] {
    const scale = this.scale!;
    const ms = scale.map.quantile_ms[this.column];
    const n = scale.count(this.column, this.bin);
    const from = new Date(scale.start(this.column));
    const to = new Date(scale.start(this.column + 1));
    return [
      `${clock(from)}–${clock(to)}`,
      `${Number.isFinite(high) ? `${axis(low)} to ${axis(high)}` : `above ${axis(low)}`}: ${count(n)} request${n === 1 ? "" : "s"}`,
      ms === null || ms === undefined ? "" : `${quantileTitle(scale.map.quantile)} ${milliseconds(ms)} ms`,
    ].filter(Boolean);
  }

  private say(text: string): void {
    this.told.textContent = text;
  }
}

function place(node: HTMLElement, shares: Record<string, number>): void {
  for (const [name, share] of Object.entries(shares)) node.style.setProperty(name, `${100 * share}%`);
}

export function written(span: Span): string {
  return `${rfc3339(new Date(span[0]))}..${rfc3339(new Date(span[1]))}`;
}
