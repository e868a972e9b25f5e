// Where a time and a latency lie in the heat map, and which cell lies at a place. Pure.
import type { Heatmap } from "./bodies";

export interface Margins {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export const MARGINS: Margins = { left: 58, right: 14, top: 26, bottom: 26 };

export class HeatScale {
  readonly from: number;
  readonly to: number;
  readonly low: number; // ms
  readonly high: number;
  readonly firstBin: number;
  readonly lastBin: number;
  readonly most: number;
  private readonly counts = new Map<number, number>();

  constructor(readonly map: Heatmap) {
    const step = map.step_s * 1000;
    this.from = map.times.length ? Date.parse(map.times[0]!) : Date.now();
    this.to = this.from + step * Math.max(1, map.times.length);
    let first = Infinity;
    let last = -Infinity;
    let most = 1;
    for (const [at, bin, n] of map.cells) {
      this.counts.set(at * 4096 + bin, n);
      if (n > 0) [first, last, most] = [Math.min(first, bin), Math.max(last, bin), Math.max(most, n)];
    }
    const bins = map.edges_ms.length - 1;
    this.firstBin = Number.isFinite(first) ? Math.max(0, first - 1) : 0;
    this.lastBin = Number.isFinite(last) ? Math.min(bins - 1, last + 1) : bins - 1;
    const edges = map.edges_ms;
    const above = edges[this.firstBin + 1] ?? 1;
    this.low = (edges[this.firstBin] ?? 0) > 0 ? edges[this.firstBin]! : above / 2; // the first bin may begin at 0
    const top = edges[this.lastBin + 1] ?? 1000;
    this.high = Number.isFinite(top) ? top : (edges[this.lastBin] ?? 1000) * 2;
    this.most = most;
  }

  columns(): number {
    return this.map.times.length;
  }

  count(column: number, bin: number): number {
    return this.counts.get(column * 4096 + bin) ?? 0;
  }

  start(column: number): number {
    return this.from + column * this.map.step_s * 1000;
  }

  band(bin: number): [number, number] {
    const low = this.map.edges_ms[bin] ?? 0;
    const high = this.map.edges_ms[bin + 1] ?? Infinity;
    return [low, high];
  }

  // Shares of the width and of the height from below.
  across(time: number): number {
    return (time - this.from) / (this.to - this.from);
  }

  up(ms: number): number {
    const held = Math.min(this.high, Math.max(this.low, ms));
    return Math.log(held / this.low) / Math.log(this.high / this.low);
  }

  column(share: number): number {
    return Math.max(0, Math.min(this.columns() - 1, Math.floor(share * this.columns())));
  }

  bin(share: number): number {
    const ms = this.low * (this.high / this.low) ** share;
    let bin = this.lastBin;
    while (bin > this.firstBin && this.map.edges_ms[bin]! > ms) bin -= 1;
    return bin;
  }

  // 1, 2, 5, 10 … that lie inside; fewer where that would be too many.
  ticks(): number[] {
    const all: number[] = [];
    for (let power = -4; power <= 7; power += 1) for (const first of [1, 2, 5]) all.push(first * 10 ** power);
    const inside = all.filter((ms) => ms >= this.low * 0.999 && ms <= this.high * 1.001);
    return inside.length <= 9 ? inside : inside.filter((ms) => Number.isInteger(Math.round(1e6 * Math.log10(ms)) / 1e6));
  }
}
