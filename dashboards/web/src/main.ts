// The page: a bar, one sentence when something is wrong, and the view that the address names.
import { Banner } from "./banner";
import { el, fill } from "./element";
import { keys, list } from "./keys";
import { MapView } from "./map";
import { patterns } from "./pattern";
import { ReportsView, ReportView } from "./reports";
import { read, type Route } from "./route";
import { says } from "./says";
import { SlosView, SloView } from "./slos";
import { apply, choose, theme, type Theme } from "./theme";
import { TraceView } from "./trace";

interface View {
  node: HTMLElement;
  title: string;
  show(route: Route): void;
  leave(): void;
}

const BANNER_MS = 30_000;
const PLACES: [string, string, Route["view"][]][] = [
  ["Latency", "#/", ["map", "trace"]],
  ["Incidents", "#/reports", ["reports", "report"]],
  ["Objectives", "#/slo", ["slos", "slo"]],
];

const VIEWS: Record<Route["view"], () => View> = {
  map: () => new MapView(),
  trace: () => new TraceView(),
  slos: () => new SlosView(),
  slo: () => new SloView(),
  reports: () => new ReportsView(),
  report: () => new ReportView(),
  nowhere: () => nowhere(),
};

const main = el("main", { id: "main", tabindex: -1 });
const nav = el("nav", { "aria-label": "Views" });
let now: { name: Route["view"]; view: View } | null = null;

function show(): void {
  const route = read(location.hash);
  if (now?.name !== route.view) enter(route);
  now!.view.show(route);
  document.title = `${now!.view.title} · otel-attrib`;
}

function enter(route: Route): void {
  const first = now === null;
  now?.view.leave();
  now = { name: route.view, view: VIEWS[route.view]() };
  fill(main, now.view.node);
  fill(nav, ...PLACES.map(([name, target, views]) => el("a", { href: target, "aria-current": views.includes(route.view) ? "page" : undefined }, name)));
  if (!first) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
}

function nowhere(): View {
  return { node: el("div", { class: "view" }, el("section", { class: "card" }, says("There is no such page.", el("a", { href: "#/" }, "To the latency map")))), title: "Not found", show: () => undefined, leave: () => undefined };
}

function themes(): HTMLElement {
  const select = el("select", { id: "theme", onchange: () => choose(select.value as Theme) }, ...(["system", "light", "dark"] as const).map((name) => el("option", { value: name, selected: theme() === name }, name)));
  return el("span", { class: "field" }, el("label", { for: "theme" }, "theme"), select);
}

apply();
const banner = new Banner();
fill(
  document.body,
  el("a", { class: "skip", href: "#main", onclick: (event: Event) => (event.preventDefault(), main.focus()) }, "Skip to the content"),
  el("header", { class: "top" }, el("a", { class: "brand", href: "#/" }, "otel-attrib"), nav, el("span", { class: "push row" }, themes(), el("button", { type: "button", class: "quiet", onclick: list, "aria-label": "Show the keys" }, "?"))),
  banner.node,
  main,
  patterns(),
);
keys();
addEventListener("popstate", show);
addEventListener("hashchange", show);
addEventListener("report", () => void banner.look());
setInterval(() => document.visibilityState === "visible" && void banner.look(), BANNER_MS);
show();
void banner.look();
