// Calm sentences for what is missing or did not work, each with what to do.
import { Problem } from "./api";
import { el, type Child } from "./element";
import { capital } from "./word";

export function says(title: string, ...more: Child[]): HTMLElement {
  return el("div", { class: "says" }, el("p", { class: "title" }, title), more.length ? el("p", null, ...more) : null);
}

export function busy(text: string): HTMLElement {
  return el("p", { class: "busy", role: "status" }, text);
}

export function trouble(fault: unknown, again?: () => void): HTMLElement {
  const [title, advice] = told(fault);
  const node = says(title, advice);
  node.setAttribute("role", "alert");
  if (again) node.append(el("p", null, el("button", { onclick: again }, "Try again")));
  return node;
}

function told(fault: unknown): [string, string] {
  if (!(fault instanceof Problem)) return ["The page could not show this.", String(fault)];
  const detail = sentence(fault.message);
  switch (fault.status) {
    case 0:
      return ["The service does not answer.", "What is shown may be old. See whether `otel-attrib up` still runs and can be reached from here."];
    case 401:
      return ["A token is needed.", "Ask whoever runs this service for one; `otel-attrib tokens add` makes it."];
    case 403:
      return ["This is not yours to see.", `${detail} Choose one of your own tenants, or use another token.`];
    case 404:
      return ["There is no such thing in the store.", `${detail} It may have been deleted after its time to live.`];
    case 413:
    case 504:
      return ["This question is too large for the service's limits.", `${detail} Take a shorter range or choose with a filter.`];
    case 422:
      return ["The service does not understand this question.", detail];
    case 503:
      return ["The store is busy or away.", `${detail} Wait a few seconds and try again.`];
    default:
      return [`The service answered ${fault.status}.`, detail];
  }
}

function sentence(text: string): string {
  const first = capital(text);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
