// Values of counters as the command writes them: percent, ms, MHz, bytes in the size that fits.
import { digits } from "./number";

export function scaled(unit: string, share: boolean, value: number): [factor: number, name: string] {
  if (unit === "1") return share ? [100, " %"] : [1, ""];
  if (unit === "By" || unit === "By/s") {
    const found = ([["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]] as const).find(([, size]) => Math.abs(value) >= size);
    return [1 / (found?.[1] ?? 1), ` ${found?.[0] ?? ""}B${unit.slice(2)}`];
  }
  if (unit.startsWith("{")) return [1, unit.endsWith("/s") ? "/s" : ""];
  const known: Record<string, [number, string]> = { "s/s": [1e3, " ms/s"], Cel: [1, " °C"], Hz: [1e-6, " MHz"], s: [1e3, " ms"] };
  return known[unit] ?? [1, ` ${unit}`];
}

export function quantity(unit: string, share: boolean, value: number, ...others: (number | null | undefined)[]): [string, ...string[]] {
  const [factor, name] = scaled(unit, share, value);
  return [`${digits(factor * value)}${name}`, ...others.map((other) => (other === null || other === undefined ? "" : digits(factor * other)))];
}

export function isShare(meaning: string, unit: string): boolean {
  return unit === "1" && /share|utili[sz]ation|usage|pressure|busy|occupan|fraction|throttled|rate/i.test(meaning);
}

export function shortTitle(meaning: string): string {
  return meaning.split(/ \(|,? by (?:`|interface)|, cumulative$/)[0] ?? meaning;
}
