// Light, dark, or as the system has it. Charts ask for colours when they draw and draw again on a change.

export type Theme = "system" | "light" | "dark";

const KEY = "otel-attrib theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const waiting = new Set<() => void>();

export function theme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function dark(): boolean {
  return theme() === "dark" || (theme() === "system" && system.matches);
}

export function choose(next: Theme): void {
  if (next === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
  apply();
}

export function apply(): void {
  document.documentElement.dataset.theme = dark() ? "dark" : "light";
  for (const told of waiting) told();
}

// Calls `told` on every change until the signal aborts.
export function onChange(told: () => void, signal: AbortSignal): void {
  waiting.add(told);
  signal.addEventListener("abort", () => waiting.delete(told));
}

export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

system.addEventListener("change", apply);
