// Asks why: progress with a way to call it off, then the answer, an abstention or a calm sentence.
import { answer, command } from "./answer";
import { cancelled, long, type Progress } from "./api";
import type { Why } from "./bodies";
import { copy } from "./copy";
import { el, fill } from "./element";
import { read, type Query } from "./route";
import { says, trouble } from "./says";
import { capital } from "./word";

export interface Asked {
  query: Query;
  baseline: string; // as in the address; "" is auto
  answered(why: Why): void;
  listed(why: Why): void;
  closed(): void;
}

export function ask(asked: Asked, signal: AbortSignal): HTMLElement {
  const node = el("section", { class: "card attribution", "aria-label": "Attribution", "aria-busy": "true" });
  const live = el("p", { class: "unseen", "aria-live": "polite" });
  const body = el("div");
  fill(node, live, body);
  void run();
  return node;

  async function run(): Promise<void> {
    const stop = new AbortController();
    signal.addEventListener("abort", () => stop.abort());
    const bar = el("progress", { max: 1, "aria-label": "Progress" });
    const step = el("span", null, "Comparing the two windows…");
    fill(body, el("div", { class: "row waiting" }, step, bar, el("button", { type: "button", onclick: () => stop.abort() }, "Cancel")));
    try {
      show(await long<Why>("why", asked.query, (at) => told(at, step, bar), stop.signal));
    } catch (fault) {
      if (signal.aborted) return;
      fill(body, cancelled(fault) ? says("The question was called off.", el("button", { type: "button", onclick: () => void run() }, "Ask again")) : trouble(fault, () => void run()), closing());
    }
    node.removeAttribute("aria-busy");
  }

  function told(at: Progress, step: HTMLElement, bar: HTMLProgressElement): void {
    step.textContent = `${capital(at.step)}…`;
    bar.max = at.of;
    bar.value = at.done;
  }

  function show(why: Why): void {
    const route = read(location.hash);
    fill(
      body,
      answer(why, [
        copy("Copy as command", () => command(why, asked.baseline, route)),
        copy("Copy link", () => location.href),
        el("button", { type: "button", onclick: () => asked.listed(why) }, "Requests of this window"),
        closing(),
      ]),
    );
    live.textContent = why.headline ?? why.verdict;
    asked.answered(why);
  }

  function closing(): HTMLElement {
    return el("button", { type: "button", class: "quiet", onclick: asked.closed }, "Close");
  }
}

