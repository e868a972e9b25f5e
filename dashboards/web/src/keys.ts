// Keys that work everywhere, and the list of them.
import { el } from "./element";

const LIST: [string, string][] = [
  ["?", "this list"],
  ["g then l, i, o", "go to Latency, Incidents, Objectives"],
  ["m", "to the heat map"],
  ["arrows", "on the heat map: move from cell to cell, which is read out"],
  ["Shift + ← →", "choose a window; letting go of Shift asks why"],
  ["b", "choose the baseline instead, or the window again"],
  ["Enter", "the requests of this cell; on a request, its waterfall"],
  ["Esc", "close what was chosen"],
  ["Tab", "everything else, in order"],
];

export function keys(): void {
  let before = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const places: Record<string, string> = { l: "#/", i: "#/reports", o: "#/slo" };
    if (event.key === "?") list();
    else if (before === "g" && places[event.key]) location.hash = places[event.key]!;
    else if (event.key === "m") (document.querySelector(".pick") as HTMLElement | null)?.focus();
    before = event.key;
  });
}

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (["SELECT", "TEXTAREA"].includes(target.tagName) || (target instanceof HTMLInputElement && !["radio", "checkbox"].includes(target.type)));
}

export function list(): void {
  if (document.querySelector("dialog[open]")) return;
  const dialog = el(
    "dialog",
    { class: "sheet", "aria-labelledby": "keys-title" },
    el("form", { method: "dialog" }, el("h2", { id: "keys-title" }, "Keys"), el("table", { class: "keys" }, el("tbody", null, ...LIST.map(([key, text]) => el("tr", null, el("th", { scope: "row" }, el("kbd", null, key)), el("td", null, text))))), el("div", { class: "row end" }, el("button", { class: "primary" }, "Close"))),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
