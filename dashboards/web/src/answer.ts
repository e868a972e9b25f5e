// A report for people: the sentence first, then what it rests on. An abstention is an answer like any other.
import { bars } from "./bars";
import type { Evidence, Side, Slice, Why } from "./bodies";
import { commandLine } from "./copy";
import { el, type Child } from "./element";
import { span } from "./moment";
import { count, milliseconds, percent, reach } from "./number";
import { layerLines, stageLines, standsOut } from "./parts";
import { href, type Route } from "./route";
import { capital, layerTitle, pairs, quantileTitle, sliceTitle } from "./word";

// What the verdict means, in two or three words; the sign is there for those who do not see the colour.
const MEANINGS: Record<Why["verdict"], [sign: string, text: string, tone: string]> = {
  CAUSE: ["◆", "cause named", "named"],
  CAUSE_SET: ["◆", "two causes named", "named"],
  MIX: ["◇", "the requests changed", "named"],
  LOAD: ["◇", "more load", "named"],
  GLOBAL: ["○", "real, not traced to a layer", "open"],
  INSUFFICIENT: ["○", "too little data to say", "open"],
  NO_REGRESSION: ["✓", "no regression", "calm"],
};

export function answer(why: Why, actions: Child): HTMLElement {
  const shown = standsOut(why);
  const reasons = [why.verdict === "NO_REGRESSION" ? null : evidence(why), slices(why), exemplars(why), notes(why)];
  return el(
    "article",
    { class: `answer ${MEANINGS[why.verdict]?.[2] ?? "open"}` },
    head(why, actions),
    deciding(why),
    shown
      ? el("div", { class: "columns" }, el("div", { class: "numbers" }, tables(why)), el("div", { class: "reasons" }, reasons))
      : [el("div", { class: "reasons across" }, reasons), hidden(why)],
    el("p", { class: "fine" }, `${why.metric.toUpperCase()}: ${why.definition}. `),
    rule(why),
  );
}

function head(why: Why, actions: Child): HTMLElement {
  const [sign, meaning] = MEANINGS[why.verdict] ?? ["○", "", "open"];
  return el(
    "header",
    null,
    el("p", { class: "verdict" }, el("span", { class: "sign", "aria-hidden": true }, sign), el("b", null, why.verdict), ` ${meaning}`),
    el("h2", { class: "sentence", tabindex: -1 }, sentence(why)),
    el("p", { class: "reason" }, reason(why)),
    el("dl", { class: "sides" }, side("baseline", why.baseline, why.metric), side("window", why.current, why.metric), where(why)),
    el("div", { class: "row actions" }, actions),
  );
}

// Reports kept by older versions have no headline of their own.
export function sentence(why: Why): string {
  if (why.headline) return why.headline;
  const name = `${quantileTitle(why.quantile)} ${why.metric.toUpperCase()}`;
  const { baseline, current, delta_ms: delta } = why;
  if (delta === null || baseline.ms === null || current.ms === null) return `${name} cannot be judged.`;
  return `${name} ${milliseconds(baseline.ms)} → ${milliseconds(current.ms)} ms (${milliseconds(delta, true)}): ${why.verdict}`;
}

function reason(why: Why): string {
  const text = why.checks.reason ? `${capital(why.checks.reason)}.` : "";
  const sure = why.delta_ms !== null && typeof why.delta_ci_ms[0] === "number" ? ` 95 % interval of the change: ${reach(why.delta_ci_ms)} ms.` : "";
  return text + sure;
}

function side(name: string, told: Side, metric: string): Child {
  const value = told.ms === null ? "" : `, ${milliseconds(told.ms)} ms`;
  const text = `${span(new Date(told.from), new Date(told.to))}, ${count(told.n)} ${metric === "tbt" ? "gaps" : "requests"}${value}`;
  return [el("dt", null, told.name || name), el("dd", null, text)];
}

function where(why: Why): Child {
  const chosen = why.checks.where ?? {};
  return Object.keys(chosen).length ? [el("dt", null, "where"), el("dd", null, pairs(chosen))] : null;
}

function tables(why: Why): Child {
  if (why.delta_ms === null || !Object.keys(why.layers).length) return el("p", { class: "dim" }, "Nothing to divide: the change is not known.");
  const change = milliseconds(why.delta_ms, true);
  const layers = bars(`Where the ${change} ms came from`, "layer", layerLines(why), why.delta_ms, true);
  const known = why.checks.stages_unexplained_ms !== null && why.checks.stages_unexplained_ms !== undefined;
  return [layers, known ? bars("In which stage: what the stage itself added, at equal work", "stage", stageLines(why), why.delta_ms, false) : null];
}

function hidden(why: Why): Child {
  if (why.delta_ms === null) return null;
  return el("details", null, el("summary", null, "What each layer added is within the uncertainty of the change: show it all the same"), el("div", { class: "numbers" }, tables(why)));
}

function evidence(why: Why): Child {
  const named = ["CAUSE", "CAUSE_SET"].includes(why.verdict) ? blamed(why) : [];
  const about = named.length ? named : Object.keys(why.layers);
  const speaking = why.evidence.filter((item) => item.for && about.includes(item.layer));
  const against = why.evidence.filter((item) => !item.for && about.includes(item.layer));
  if (named.length) against.push(...why.evidence.filter((item) => item.for && !named.includes(item.layer)));
  return [
    listed(named.length ? "What speaks for it" : "What points to a layer", "+", speaking),
    listed(named.length ? "What speaks against it" : "What speaks against a layer", "−", against),
    why.evidence.length ? null : el("p", { class: "dim" }, "No counter was read in these windows, so nothing speaks for or against a layer."),
  ];
}

// The layers that the sentence blames, by their names in it; else those that added most.
function blamed(why: Why): string[] {
  const sorted = Object.entries(why.layers).sort(([, x], [, y]) => y.ms - x.ms).map(([name]) => name);
  const named = sorted.filter((name) => why.headline?.includes(` ${layerTitle(name)} +`));
  return named.length ? named : sorted.slice(0, why.verdict === "CAUSE" ? 1 : 2);
}

function listed(title: string, sign: string, items: Evidence[]): Child {
  if (!items.length) return null;
  return el(
    "section",
    { class: sign === "+" ? "for" : "against" },
    el("h3", null, title),
    el("ul", null, ...items.map((item) => el("li", null, el("span", { class: "sign", "aria-hidden": true }, sign), el("span", null, el("b", null, layerTitle(item.layer)), ` ${item.text} `, item.counter ? el("code", null, item.counter) : null)))),
  );
}

function slices(why: Why): Child {
  const all = [why.slice, ...(why.checks.more_slices ?? [])].filter((each): each is Slice => each !== null);
  if (!all.length) return null;
  return el("section", null, el("h3", null, "Who was hit"), el("ul", null, ...all.map((each) => el("li", null, el("span", null, el("b", null, sliceTitle(each.where)), ` ${count(each.requests)} requests, ${percent(each.share_of_delta)} of the excess`)))));
}

function deciding(why: Why): Child {
  const open = ["GLOBAL", "INSUFFICIENT", "CAUSE_SET"].includes(why.verdict) || (why.verdict === "NO_REGRESSION" && (why.delta_ci_ms[0] ?? -1) > 0);
  if (!why.deciding.length || !open) return null;
  return el("section", { class: "deciding" }, el("h3", null, "What would decide it"), el("ul", null, ...why.deciding.map((text) => el("li", null, el("span", { class: "sign", "aria-hidden": true }, "?"), el("span", null, text)))));
}

function exemplars(why: Why): Child {
  if (!why.exemplars.length) return null;
  return el("section", null, el("h3", null, "Requests to look at"), el("p", { class: "links" }, why.exemplars.map((id) => [el("a", { href: href(`trace/${id}`, { metric: why.metric }), class: "mono" }, id.slice(0, 12)), " "])));
}

function notes(why: Why): Child {
  const told = why.checks.notes ?? [];
  return told.length ? el("section", null, el("h3", null, "Notes"), el("ul", { class: "dim" }, ...told.map((text) => el("li", null, text)))) : null;
}

function rule(why: Why): Child {
  return why.checks.rule ? el("details", { class: "inline" }, el("summary", null, "The rule for calling a regression"), el("p", null, why.checks.rule)) : null;
}

// The same question on the command line.
export function command(why: Why, baseline: string, route: Route): string {
  const words: string[] = [];
  if (why.metric !== "ttft") words.push("--metric", why.metric);
  if (why.quantile !== 0.99) words.push("--quantile", String(why.quantile));
  words.push("--window", `${why.current.from}..${why.current.to}`);
  words.push("--baseline", baseline || `${why.baseline.from}..${why.baseline.to}`);
  for (const each of route.params.getAll("where")) words.push("--where", each);
  return commandLine("why", ...words);
}
