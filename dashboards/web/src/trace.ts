// One request: the sentence, the waterfall, the gaps of its tokens and the counters under them, its peers.
import { cancelled, get, long, Problem } from "./api";
import type { Trace, WhyTrace } from "./bodies";
import { commandLine, copy } from "./copy";
import { counters } from "./counters";
import { el, fill, type Child } from "./element";
import { gaps } from "./gaps";
import { stamp } from "./moment";
import { count, milliseconds, percent, signed } from "./number";
import type { Route } from "./route";
import { busy, trouble } from "./says";
import { heads, numbered, scrolled } from "./table";
import { number, Waterfall, type Domain } from "./waterfall";

const SMALL = 0.05; // of E2E: below it the first token is shown alone

export class TraceView {
  readonly node = el("div", { class: "view" });
  title = "Request";
  private readonly stop = new AbortController();
  private key = "";

  show(route: Route): void {
    if (this.key === route.name) return;
    this.key = route.name;
    this.title = `Request ${route.name.slice(0, 12)}`;
    void this.load(route.name, route.params.get("metric") ?? "ttft");
  }

  leave(): void {
    this.stop.abort();
  }

  private async load(id: string, metric: string): Promise<void> {
    fill(this.node, el("section", { class: "card" }, busy("Looking up the request…")));
    try {
      const trace = await get<Trace>(`trace/${encodeURIComponent(id)}`, { evidence: "true" }, this.stop.signal);
      this.draw(trace, id, metric);
    } catch (fault) {
      if (!cancelled(fault)) fill(this.node, el("section", { class: "card" }, trouble(fault, () => void this.load(id, metric)), back()));
    }
  }

  private draw(trace: Trace, id: string, metric: string): void {
    const ranges = domains(trace);
    let domain = ranges[0]![1];
    const fall = new Waterfall(trace, domain);
    const placed = { domain: () => domain, place: () => fall.place() };
    const strips = [gaps(trace, placed, this.stop.signal), counters(trace, placed, this.stop.signal)];
    const again = (): void => {
      for (const strip of strips) strip.again();
    };
    const to = (next: Domain): void => {
      domain = next;
      fall.to(next);
      again();
    };
    const peers = el("div", { class: "peers" }, busy("Comparing with requests like it…"));
    fill(
      this.node,
      el(
        "section",
        { class: "card trace" },
        el("h2", { class: "sentence", tabindex: -1 }, headline(trace)),
        peers,
        facts(trace),
        el("div", { class: "row actions" }, ranges.length > 1 ? switched(ranges, to) : null, copy("Copy as command", () => commandLine("trace", id, "--evidence")), copy("Copy link", () => location.href), back()),
        fall.node,
        ...strips.map((strip) => strip.node),
        steps(trace),
      ),
    );
    again();
    void this.compare(id, metric, fall, peers, again);
  }

  private async compare(id: string, metric: string, fall: Waterfall, peers: HTMLElement, again: () => void): Promise<void> {
    const asked = metric === "tbt" ? "tpot" : metric;
    try {
      const told = await long<WhyTrace>("why", { trace: id, metric: asked }, () => undefined, this.stop.signal);
      fall.beside(told);
      again(); // the bars have become narrower
      fill(peers, el("p", null, el("b", null, beside(told))), el("p", { class: "dim" }, `Beside ${count(told.peers)} requests: ${told.who}.`));
    } catch (fault) {
      if (cancelled(fault)) return;
      const text = fault instanceof Problem ? `Not compared with others: ${fault.message}.` : "Not compared with others.";
      fill(peers, el("p", { class: "dim" }, text));
    }
  }
}

function domains(trace: Trace): [string, Domain][] {
  const [ttft, e2e] = [trace.ttft_us === null ? null : trace.ttft_us / 1000, number(trace.request.e2e_us)];
  const end = e2e === null ? (ttft ?? 1) : e2e / 1000;
  const around = trace.series?.length ? 0.2 : 0;
  const whole: [string, Domain] = ["whole request", [-around * end, (1 + around) * end]];
  if (ttft === null || ttft >= 0.95 * end) return [whole];
  const first: [string, Domain] = ["to first token", [0, ttft]];
  return ttft < SMALL * end ? [first, whole] : [whole, first];
}

function switched(ranges: [string, Domain][], to: (domain: Domain) => void): HTMLElement {
  const radio = ([name, domain]: [string, Domain], at: number): HTMLElement =>
    el("label", null, el("input", { type: "radio", name: "domain", checked: at === 0, onchange: () => to(domain) }), el("span", null, name));
  return el("div", { class: "segmented small", role: "radiogroup", "aria-label": "Time shown" }, ...ranges.map(radio));
}

function headline(trace: Trace): string {
  if (trace.headline) return trace.headline;
  const parts = trace.stages.filter((stage) => stage.us).sort((a, b) => b.us! - a.us!).slice(0, 3);
  const told = parts.map((stage) => `${milliseconds(stage.us! / 1000)} ms ${stage.stage}`).join(", ");
  const status = String(trace.request.status ?? "");
  const ended = status === "" || status === "ok" ? "" : `; ${status}`;
  if (trace.ttft_us === null) return `No first token${told ? `: ${told}` : ""}${ended}`;
  const since = trace.measured_from === "arrival" ? "" : ` from ${trace.measured_from}`;
  return `TTFT ${milliseconds(trace.ttft_us / 1000)} ms${since}: ${told || "no stage observed"}${ended}`;
}

function beside(told: WhyTrace): string {
  if (told.headline) return told.headline;
  if (!told.enough || told.excess_ms === null) return `Only ${told.peers} requests like it are stored, too few to compare with.`;
  const slower = told.excess_ms > 0 ? `${signed(told.excess_ms)} ms more than usual` : `${signed(told.excess_ms)} ms against the usual`;
  return `${told.metric.toUpperCase()} ${milliseconds(told.own_ms)} ms, ${slower}`;
}

function facts(trace: Trace): HTMLElement {
  const { request } = trace;
  const text = (name: string): string => String(request[name] ?? "");
  const tokens = (name: string): string => (typeof request[name] === "number" ? count(request[name] as number) : "unknown");
  const told: [string, string][] = [
    ["trace", text("trace_id")],
    ["request", text("request_id")],
    ["arrived", `${stamp(new Date(text("time")))} UTC`],
    ["service", text("service")],
    ["model", text("model")],
    ["tenant", text("tenant")],
    ["on", [text("node"), text("gpu_set")].filter(Boolean).join(":")],
    ["tokens", `${tokens("prompt_tokens")} prompt${request.cached_tokens ? ` (${tokens("cached_tokens")} cached)` : ""}, ${tokens("output_tokens")} output`],
    ["ended", [text("status"), text("finish_reason"), typeof request.e2e_us === "number" ? `after ${milliseconds(request.e2e_us / 1000)} ms` : ""].filter(Boolean).join(", ")],
  ];
  const shown: Child = told.filter(([, value]) => value).map(([name, value]) => el("div", null, el("dt", null, name), el("dd", { class: name === "trace" || name === "request" ? "mono" : "" }, value)));
  return el("dl", { class: "facts" }, shown);
}

function steps(trace: Trace): Child {
  if (!trace.steps.length) return null;
  const head = ["engine steps", "count", "ms each", "batch", "prefill beside", "KV use", "waiting", "preemptions"];
  const row = (step: Trace["steps"][number]): HTMLElement => {
    const cells = [count(step.steps), step.mean_us === null ? "–" : milliseconds(step.mean_us / 1000), step.batch_mean === null ? "–" : String(Number(step.batch_mean.toFixed(1))), count(step.prefill_beside), step.kv_high === null ? "–" : percent(step.kv_high), step.waiting_max === null ? "–" : count(step.waiting_max), count(step.preemptions)];
    return el("tr", null, el("th", { scope: "row" }, step.phase), ...cells.map((text) => el("td", { class: "num" }, text)));
  };
  return el(
    "section",
    { class: "strip" },
    el("h3", null, "Engine steps that served it"),
    scrolled("Engine steps", el("table", { class: "list" }, heads(numbered(head)), el("tbody", null, ...trace.steps.map(row)))),
  );
}

function back(): HTMLElement {
  return el("button", { type: "button", class: "quiet", onclick: () => (history.length > 1 ? history.back() : location.assign("#/")) }, "Back");
}
