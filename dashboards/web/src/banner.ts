// The one sentence at the top: what is wrong now, if anything is.
import { get } from "./api";
import type { Page, ReportItem } from "./bodies";
import { sentence } from "./answer";
import { el, fill } from "./element";
import { clock } from "./moment";
import { latest } from "./reports";
import { href } from "./route";

export class Banner {
  readonly node = el("div", { class: "banner", role: "status", hidden: true });
  private shown = "";

  // Looks for open incidents; silent where the service has none or does not say.
  async look(): Promise<void> {
    try {
      const { items } = await get<Page<ReportItem>>("reports", { since: "24h", limit: 200 });
      const open = latest(items).filter((item) => item.state === "open");
      await this.show(open);
    } catch {
      this.node.hidden = true;
    }
  }

  private async show(open: ReportItem[]): Promise<void> {
    const [first, ...others] = open;
    this.node.hidden = !first;
    const key = open.map((item) => item.hash).join();
    if (!first || key === this.shown) return;
    const { items } = await get<Page<ReportItem>>(`reports/${encodeURIComponent(first.incident)}`);
    const report = latest(items)[0]?.report;
    if (!report) return;
    this.shown = key;
    fill(
      this.node,
      el("span", { class: "sign", "aria-hidden": true }, "■"),
      el("span", null, el("span", { class: "dim" }, `Open since ${clock(new Date(first.onset), false)}: `), el("b", null, sentence(report)), others.length ? el("span", { class: "dim" }, ` and ${others.length} more`) : null),
      el("a", { class: "button", href: others.length ? href("reports") : href(`reports/${first.incident}`) }, others.length ? "See them" : "See why"),
    );
  }
}
