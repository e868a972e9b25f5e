// What happens now, as events. When nothing came for a while the connection is called stale, and opened anew.
import { cancelled, events, Problem, send } from "./api";
import type { Query } from "./route";

const STALE_MS = 45_000;
const AGAIN_MS = [1000, 3000, 10_000];

export type State = "off" | "on" | "stale" | "refused";

export interface Told {
  event(name: string, data: unknown): void;
  state(now: State, since: Date | null): void;
}

// Listens until the signal aborts.
export function listen(query: Query, told: Told, signal: AbortSignal): void {
  let heard = new Date();
  let failures = 0;
  const watch = setInterval(() => {
    if (Date.now() - heard.getTime() > STALE_MS) told.state("stale", heard);
  }, 5000);
  signal.addEventListener("abort", () => {
    clearInterval(watch);
    told.state("off", null);
  });
  void connect();

  async function connect(): Promise<void> {
    while (!signal.aborted) {
      try {
        await heardFrom(await send("live", query, "text/event-stream", signal));
        failures = 0;
      } catch (fault) {
        if (cancelled(fault)) return;
        if (fault instanceof Problem && [401, 403, 404, 422].includes(fault.status)) return told.state("refused", null);
        told.state("stale", heard);
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS[Math.min(failures, AGAIN_MS.length - 1)]));
      failures += 1;
    }
  }

  async function heardFrom(response: Response): Promise<void> {
    told.state("on", (heard = new Date()));
    for await (const { event, data } of events(response)) {
      heard = new Date();
      failures = 0;
      told.state("on", heard);
      if (data) told.event(event, JSON.parse(data));
    }
  }
}
