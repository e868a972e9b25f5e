// Buttons that copy a text, such as a command; where the browser does not let them, it is shown to be copied by hand.
import { el } from "./element";

// A command line that asks this page's service; each word stands for itself in a shell.
export function commandLine(name: string, ...words: string[]): string {
  return ["otel-attrib", name, "--url", new URL(".", location.href).href.replace(/\/$/, ""), ...words].map(quoted).join(" ");
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

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
