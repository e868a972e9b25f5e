// Buttons that copy a text; where the browser does not let them, the text is shown to be copied by hand.
import { el } from "./element";

export function copy(label: string, text: () => string): HTMLElement {
  const button = el("button", { type: "button" }, label);
  const said = el("span", { class: "unseen", role: "status" });
  button.addEventListener("click", () => void copied());
  return el("span", { class: "copy" }, button, said);

  async function copied(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
      said.textContent = "Copied";
      setTimeout(() => (button.textContent = label), 1500);
    } catch {
      button.parentElement!.append(byHand(text()));
    }
  }
}

function byHand(text: string): HTMLElement {
  const field = el("input", { class: "mono", readonly: true, value: text, "aria-label": "Copy this" });
  setTimeout(() => field.select());
  field.addEventListener("blur", () => field.remove());
  return field;
}
