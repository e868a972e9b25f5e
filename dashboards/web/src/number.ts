// Numbers as the command writes them: three digits that matter, the same words on paper and on screen.

export const MINUS = "-";

export function milliseconds(value: number, sign = false): string {
  const size = Math.abs(value);
  const decimals = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  const shown = Number(size.toFixed(decimals)) === 0 ? 0 : value;
  const text = decimals ? Math.abs(shown).toFixed(decimals) : whole(Math.abs(shown));
  return `${shown < 0 ? MINUS : sign ? "+" : ""}${text}`;
}

export function signed(ms: number): string {
  const text = milliseconds(ms, true);
  return /[1-9]/.test(text) ? text : "0";
}

export function percent(share: number): string {
  return `${Math.round(100 * share) + 0} %`;
}

// To a hundredth of a percent, and never 100 % of what lacks something.
export function fine(share: number): string {
  return share >= 1 ? "100 %" : `${Math.min(99.99, 100 * share).toFixed(2)} %`;
}

export function probability(p: number): string {
  return p > 0.995 ? ">0.99" : p < 0.005 ? "<0.01" : p.toFixed(2);
}

export function reach(ends: readonly (number | null)[]): string {
  const [low, high] = ends;
  if (typeof low !== "number" || typeof high !== "number") return "unknown";
  return `${milliseconds(low)}…${milliseconds(high)}`;
}

export function digits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 999.5) return `${value < 0 ? MINUS : ""}${whole(size)}`;
  return String(Number(value.toPrecision(3)));
}

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

export function axis(ms: number): string {
  return ms >= 1000 ? `${digits(ms / 1000)} s` : ms >= 1 ? `${digits(ms)} ms` : `${digits(1000 * ms)} µs`;
}

function whole(size: number): string {
  return size >= 9999.5 ? Math.round(size).toLocaleString("en-US") : Math.round(size).toFixed(0);
}
