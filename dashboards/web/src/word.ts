// How things are called in sentences.

export const METRICS = ["ttft", "tpot", "tbt", "e2e"] as const;

export const DEFINITIONS: Record<string, string> = {
  ttft: "time to first token: arrival at the server to first token written",
  tpot: "time per output token after the first, mean of a request",
  tbt: "gap between two successive tokens",
  e2e: "arrival at the server to last byte written",
};

const LAYERS: Record<string, string> = { gpu: "GPU", pcie: "PCIe", nvlink: "NVLink", cpu: "host CPU" };

export function layerTitle(layer: string): string {
  return LAYERS[layer] ?? layer;
}

export function quantileTitle(level: number): string {
  return `P${Number((100 * level).toPrecision(6))}`;
}

// `node3`, `node3:GPU-5` for a device on it, else each `key=value`.
export function sliceTitle(where: Record<string, string>): string {
  const names = Object.keys(where);
  if (names.length === 2 && where.node && where.gpu_set) return `${where.node}:${where.gpu_set}`;
  if (names.length === 1 && (where.gpu || where.node)) return (where.gpu ?? where.node)!;
  return pairs(where);
}

export function pairs(where: Record<string, string> | string): string {
  return typeof where === "string" ? where : words(where).join(" ");
}

// The same as words of the address.
export function words(where: Record<string, string> | string): string[] {
  return typeof where === "string" ? where.split(/[\s,]+/).filter(Boolean) : Object.entries(where).map(([key, value]) => `${key}=${value}`);
}

export function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
