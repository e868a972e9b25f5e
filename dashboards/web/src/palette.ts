// One colour for one thing, the same as on the Grafana dashboards (dashboards/palette.py; a test compares).

export const LAYER_COLORS: Record<string, string> = {
  scheduler: "#E69F00",
  gpu: "#D55E00",
  pcie: "#CC79A7",
  nvlink: "#F0E442",
  cpu: "#0072B2",
  network: "#56B4E9",
  client: "#009E73",
  unexplained: "#999999",
};

export const STAGE_COLORS: Record<string, string> = {
  ingress: "#56B4E9",
  tokenize: "#0072B2",
  queue: "#E69F00",
  kv_init: "#CC79A7",
  prefill: "#D55E00",
  sample: "#F0E442",
  egress: "#009E73",
  outside: "#999999",
};

const CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];

// A count between none and the most, on a logarithmic scale: few stand back from the paper, many stand out.
export function shade(share: number, dark: boolean): string {
  const at = (dark ? 0.08 + 0.92 * share : 1 - share) * (CIVIDIS.length - 1);
  const low = Math.max(0, Math.min(CIVIDIS.length - 2, Math.floor(at)));
  const [r, g, b] = mixed(CIVIDIS[low]!, CIVIDIS[low + 1]!, at - low);
  return `rgba(${r},${g},${b},${(0.45 + 0.55 * Math.min(1, 2 * share)).toFixed(2)})`;
}

function mixed(a: string, b: string, share: number): number[] {
  return [1, 3, 5].map((from) => {
    const [one, other] = [a, b].map((each) => parseInt(each.slice(from, from + 2), 16)) as [number, number];
    return Math.round(one + (other - one) * share);
  });
}
