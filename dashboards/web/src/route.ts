// The page's state is its address: what is shown can be sent to somebody, and the back button works.

export interface Route {
  view: "map" | "trace" | "slos" | "slo" | "reports" | "report" | "nowhere";
  name: string;
  params: URLSearchParams;
}

export function read(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2) as [string, string?];
  const [first = "", ...rest] = path.split("/").filter(Boolean).map(decoded);
  const name = rest.join("/");
  return { view: viewOf(first, name), name, params: new URLSearchParams(query) };
}

function viewOf(first: string, name: string): Route["view"] {
  if (first === "" || first === "why") return "map";
  if (first === "trace") return name ? "trace" : "nowhere";
  if (first === "slo") return name ? "slo" : "slos";
  if (first === "reports") return name ? "report" : "reports";
  return "nowhere";
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export type Query = Record<string, string | string[] | number | undefined>;

export function href(path: string, params: URLSearchParams | Query = {}): string {
  const query = params instanceof URLSearchParams ? params : search(params);
  const text = query.toString().replaceAll("%3A", ":").replaceAll("%2C", ",").replaceAll("%3D", "=");
  return `#/${path}${text ? `?${text}` : ""}`;
}

// Words of an address; one that is not known or "" is left out.
export function search(values: Query): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [String(value)]) query.append(name, each);
  }
  return query;
}

export function go(target: string): void {
  if (target === location.hash) return;
  history.pushState(null, "", target);
  dispatchEvent(new PopStateEvent("popstate"));
}
