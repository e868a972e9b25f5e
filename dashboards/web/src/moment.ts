// Times, always UTC as in the command's reports; RFC 3339 to and from the API.

const two = (value: number): string => String(value).padStart(2, "0");

export function rfc3339(time: Date): string {
  return time.toISOString().replace(/\.000Z$/, "Z");
}

export function clock(time: Date, seconds = true): string {
  const text = `${two(time.getUTCHours())}:${two(time.getUTCMinutes())}`;
  return seconds ? `${text}:${two(time.getUTCSeconds())}` : text;
}

export function day(time: Date): string {
  return `${time.getUTCFullYear()}-${two(time.getUTCMonth() + 1)}-${two(time.getUTCDate())}`;
}

export function stamp(time: Date): string {
  return `${day(time)} ${clock(time)}`;
}

export function span(from: Date, to: Date): string {
  return `${stamp(from)}…${day(from) === day(to) ? clock(to) : stamp(to)} UTC`;
}

export function duration(seconds: number): string {
  const units: [number, string][] = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  for (const [size, name] of units) if (seconds >= size && seconds % size === 0) return `${seconds / size}${name}`;
  return seconds >= 90 ? `${Math.round(seconds / 60)}m` : `${Math.round(seconds)}s`;
}

// "15m", "2h", "7d" in seconds; null where it is not one.
export function seconds(text: string): number | null {
  const found = /^(\d+(?:\.\d+)?)(s|m|h|d)$/.exec(text.trim());
  if (!found) return null;
  return Number(found[1]) * { s: 1, m: 60, h: 3600, d: 86400 }[found[2] as "s" | "m" | "h" | "d"];
}

export function window(text: string): [Date, Date] | null {
  const [from, to] = text.split("..");
  if (!from || !to) return null;
  const ends: [Date, Date] = [new Date(from), new Date(to)];
  return ends.some((end) => Number.isNaN(end.getTime())) ? null : ends;
}

export function ago(time: Date, now = new Date()): string {
  const passed = (now.getTime() - time.getTime()) / 1000;
  if (passed < 0) return "just now";
  if (passed < 90) return `${Math.round(passed)} s ago`;
  if (passed < 5400) return `${Math.round(passed / 60)} min ago`;
  return passed < 172800 ? `${Math.round(passed / 3600)} h ago` : `${Math.round(passed / 86400)} d ago`;
}
