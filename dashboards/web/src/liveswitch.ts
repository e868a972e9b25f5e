// The switch that keeps the map up to date, and says so when nothing comes any more.
import { el } from "./element";
import { listen } from "./live";
import { clock } from "./moment";
import { go, href } from "./route";
import { asked, changed, type Watched } from "./watched";

export class LiveSwitch {
  readonly node: HTMLElement;
  private readonly box = el("input", { type: "checkbox", id: "live", role: "switch", onchange: () => this.turn() });
  private readonly said = el("span", { class: "live-state", role: "status" });
  private params = new URLSearchParams();
  private stop: AbortController | null = null;
  private key = "";

  constructor(
    private readonly renew: () => void,
    private readonly signal: AbortSignal,
  ) {
    this.node = el("span", { class: "field live" }, this.box, el("label", { for: "live" }, "live"), this.said);
    signal.addEventListener("abort", () => this.stop?.abort());
  }

  show(params: URLSearchParams, now: Watched): void {
    this.params = params;
    const on = params.get("live") === "on" && now.last !== "";
    this.box.checked = on;
    const key = on ? JSON.stringify(asked(now)) : "";
    if (key === this.key || this.signal.aborted) return;
    this.key = key;
    this.stop?.abort();
    if (on) this.begin(now);
  }

  private begin(now: Watched): void {
    this.stop = new AbortController();
    const told = {
      event: (name: string, data: unknown): void => {
        if (name === "report") dispatchEvent(new CustomEvent("report", { detail: data }));
        if (["quantile", "mark"].includes(name)) this.renew();
      },
      state: (state: string, since: Date | null): void => this.say(state, since),
    };
    listen(asked(now), told, this.stop.signal);
  }

  private say(state: string, since: Date | null): void {
    this.node.dataset.state = state;
    const text = { stale: `nothing heard since ${since ? clock(since) : "the start"}`, refused: "not offered by this service" }[state] ?? "";
    if (this.said.textContent !== text) this.said.textContent = text;
  }

  // Live needs a range that ends now.
  private turn(): void {
    const words = this.box.checked ? { live: "on", ...(this.params.get("last") ? {} : { last: "1h", from: "", to: "" }) } : { live: "" };
    const next = changed(this.params, words);
    go(href(next.has("window") ? "why" : "", next));
  }
}
