// The one sentence at the top: what is wrong now, if anything is.
import { get } from "./api";
import type { Page, ReportItem, Why } from "./bodies";
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
    const key = open.map((item) => `${item.incident} ${item.hash}`).join();
    if (!first || key === this.shown) return;
    const { items } = await get<Page<ReportItem>>(`reports/${encodeURIComponent(first.incident)}`);
    const said = sentenceOf(first, latest(items)[0]?.report);
    this.shown = key;
    fill(
      this.node,
      el("span", { class: "sign", "aria-hidden": true }, "■"),
      el("span", null, el("span", { class: "dim" }, `Open since ${clock(new Date(first.onset), false)}: `), el("b", null, said), others.length ? el("span", { class: "dim" }, ` and ${others.length} more`) : null),
      el("a", { class: "button", href: others.length ? href("reports") : href(`reports/${first.incident}`) }, others.length ? "See them" : "See why"),
    );
  }
}

// A burn is about a budget, whatever `why` says of the tail: failures alone burn one too.
function sentenceOf(item: ReportItem, report: Why | undefined): string {
  const about = item.where.slo ? `${item.where.slo} burns its budget` : "";
  const why = report && !(about && report.verdict === "NO_REGRESSION") ? sentence(report) : "";
  return [about, why].filter(Boolean).join("; ") || "An incident";
}
