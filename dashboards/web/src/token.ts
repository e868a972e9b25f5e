// The bearer token, kept for this tab alone and asked for when the service wants one.
import { el } from "./element";

const KEY = "otel-attrib token";
let asking: Promise<boolean> | null = null;

export function headers(): Record<string, string> {
  const token = sessionStorage.getItem(KEY);
  return token ? { Authorization: `Bearer ${token}` } : {};
}

// Resolves to whether a token was given; one dialog at a time, however many answers were 401.
export function ask(): Promise<boolean> {
  asking ??= shown().finally(() => {
    asking = null;
  });
  return asking;
}

function shown(): Promise<boolean> {
  const wrong = sessionStorage.getItem(KEY) !== null;
  const field = el("input", { type: "password", id: "token", autocomplete: "off", required: true, spellcheck: "false" });
  const dialog = el(
    "dialog",
    { class: "sheet", "aria-labelledby": "token-title" },
    el(
      "form",
      { method: "dialog" },
      el("h2", { id: "token-title" }, wrong ? "This token is not accepted" : "This service asks for a token"),
      el("p", null, "It is kept in this tab until you close it. ", el("code", null, "otel-attrib tokens add"), " makes one."),
      el("label", { for: "token" }, "Token"),
      field,
      // Enter presses the first button.
      el("div", { class: "row start-last" }, el("button", { value: "yes", class: "primary" }, "Use it"), el("button", { value: "no", formnovalidate: true }, "Not now")),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  field.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const given = dialog.returnValue === "yes" && field.value.trim() !== "";
      if (given) sessionStorage.setItem(KEY, field.value.trim());
      dialog.remove();
      resolve(given);
    });
  });
}
