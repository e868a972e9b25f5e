// Fills that stay apart without colour: each layer and each stage has a colour and a pattern.
import { svg } from "./element";
import { LAYER_COLORS, STAGE_COLORS } from "./palette";

type Draw = () => SVGElement[];

const stroke = (d: string, width = 1.5): SVGElement => svg("path", { d, class: "weave", "stroke-width": width });
const dot = (): SVGElement => svg("circle", { cx: 4, cy: 4, r: 1.5, class: "weave-dot" });

const WEAVES: Draw[] = [
  () => [],
  () => [stroke("M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4")],
  () => [dot()],
  () => [stroke("M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4")],
  () => [stroke("M0,4 h8")],
  () => [stroke("M4,0 v8")],
  () => [stroke("M0,4 h8 M4,0 v8")],
  () => [stroke("M0,0 l8,8 M0,8 l8,-8", 1)],
];

const FILLS: [string, string, number][] = [
  ["layer-gpu", LAYER_COLORS.gpu!, 0],
  ["layer-scheduler", LAYER_COLORS.scheduler!, 1],
  ["layer-pcie", LAYER_COLORS.pcie!, 2],
  ["layer-nvlink", LAYER_COLORS.nvlink!, 3],
  ["layer-cpu", LAYER_COLORS.cpu!, 4],
  ["layer-network", LAYER_COLORS.network!, 5],
  ["layer-client", LAYER_COLORS.client!, 6],
  ["workload", "#BBBBBB", 2],
  ["load", "#BBBBBB", 5],
  ["unexplained", LAYER_COLORS.unexplained!, 7],
  ["stage-ingress", STAGE_COLORS.ingress!, 5],
  ["stage-tokenize", STAGE_COLORS.tokenize!, 4],
  ["stage-queue", STAGE_COLORS.queue!, 1],
  ["stage-kv_init", STAGE_COLORS.kv_init!, 2],
  ["stage-prefill", STAGE_COLORS.prefill!, 0],
  ["stage-sample", STAGE_COLORS.sample!, 3],
  ["stage-egress", STAGE_COLORS.egress!, 6],
  ["stage-outside", STAGE_COLORS.outside!, 7],
  ["stage-decode", "#0072B2", 0],
];

const KNOWN = new Set(FILLS.map(([name]) => name));

export function fillOf(name: string): string {
  return `url(#fill-${KNOWN.has(name) ? name : "unexplained"})`;
}

export function patterns(): SVGSVGElement {
  return svg(
    "svg",
    { class: "patterns", "aria-hidden": true, width: 0, height: 0 },
    svg("defs", null, ...FILLS.map(([name, color, weave]) => pattern(name, color, WEAVES[weave]!))),
  );
}

function pattern(name: string, color: string, weave: Draw): SVGElement {
  const size = { width: 8, height: 8 };
  return svg("pattern", { id: `fill-${name}`, patternUnits: "userSpaceOnUse", ...size }, svg("rect", { ...size, fill: color }), ...weave());
}
