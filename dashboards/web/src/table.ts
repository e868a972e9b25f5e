// What tables share: the line of names, and the box in which a wide one is moved by mouse or keys.
import { el } from "./element";

// Names and classes of the columns; "" is the one that is drawn.
export function heads(names: [name: string, kind: string][]): HTMLElement {
  return el("thead", null, el("tr", null, ...names.map(([name, kind]) => el("th", { scope: "col", class: kind }, name || el("span", { class: "unseen" }, "bar")))));
}

// The first `plain` columns are words, the others numbers.
export function numbered(names: string[], plain = 1): [name: string, kind: string][] {
  return names.map((name, at) => [name, at < plain ? "" : "num"]);
}

export function scrolled(label: string, table: HTMLElement, kind = "scroll"): HTMLElement {
  return el("div", { class: kind, tabindex: 0, role: "region", "aria-label": label }, table);
}
