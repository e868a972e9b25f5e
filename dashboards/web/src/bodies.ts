// The JSON of /api/v1, as far as the page reads it. An unknown number is null, never zero.

export type Metric = "ttft" | "tpot" | "tbt" | "e2e";
export type Interval = [number | null, number | null];

export interface Heatmap {
  metric: Metric;
  step_s: number;
  times: string[];
  edges_ms: number[];
  cells: [number, number, number][];
  quantile: number;
  quantile_ms: (number | null)[];
  n: number;
  marks: Mark[];
}

export interface Mark {
  time: string;
  kind: string;
  name: string;
  service?: string;
}

export interface Side {
  from: string;
  to: string;
  n: number;
  ms: number | null;
  name?: string;
}

export interface Layer {
  ms: number;
  share: number | null;
  p: number;
  ci_ms: Interval;
  of_it?: Record<string, number>;
}

export interface Evidence {
  layer: string;
  for: boolean;
  counter: string;
  text: string;
}

export interface Slice {
  where: Record<string, string>;
  requests: number;
  share_of_delta: number;
}

export interface Why {
  schema: string;
  verdict: "CAUSE" | "CAUSE_SET" | "MIX" | "LOAD" | "GLOBAL" | "INSUFFICIENT" | "NO_REGRESSION";
  headline?: string;
  metric: Metric;
  quantile: number;
  definition: string;
  baseline: Side;
  current: Side;
  delta_ms: number | null;
  delta_ci_ms: Interval;
  p_regression: number | null;
  stages: Record<string, { ms: number; ci_ms: Interval }>;
  layers: Record<string, Layer>;
  workload_ms: number | null;
  load_ms: number | null;
  unexplained_ms: number | null;
  slice: Slice | null;
  evidence: Evidence[];
  exemplars: string[];
  deciding: string[];
  checks: {
    reason?: string;
    notes?: string[];
    rule?: string;
    where?: Record<string, string>;
    more_slices?: Slice[];
    stages_unexplained_ms?: number | null;
  };
  hash: string;
}

export interface WhyTrace {
  headline?: string;
  metric: Metric;
  own_ms: number;
  typical_ms: number | null;
  excess_ms: number | null;
  unexplained_ms: number | null;
  peers: number;
  enough: boolean;
  who: string;
  window: string;
  stages: StageExcess[];
}

export interface StageExcess {
  stage: string;
  own_ms: number | null;
  typical_ms: number | null;
  excess_ms: number;
  z: number | null;
  hint: string;
}

export interface Trace {
  headline?: string;
  request: Record<string, string | number | boolean | null>;
  ttft_us: number | null;
  measured_from: string;
  stages: { stage: string; us: number | null; share: number | null; offset_us: number }[];
  missing: string[];
  decode: Record<string, number>;
  gaps: Record<string, number>;
  timeline_us: number[];
  gaps_ms?: number[] | null;
  gaps_by_length_ms?: number[] | null;
  stalls: { token: number; gap_us: number }[];
  steps: { phase: string; steps: number; mean_us: number | null; batch_mean: number | null; batch_max: number | null; prefill_beside: number; kv_high: number | null; waiting_max: number | null; preemptions: number }[];
  neighbours: { service: string; name: string; offset_us: number; duration_us: number; node: string; other_clock: boolean }[];
  evidence?: {
    headline?: string;
    node: string;
    devices: string[];
    missing: Record<string, string[]>;
    clocks: Record<string, string>;
    findings: Finding[];
    earlier: number;
    engines: number;
  };
  series?: Series[];
}

export interface Finding {
  stage: string;
  counter: string;
  unit: string;
  kind: string;
  layer: string;
  meaning: string;
  device: string;
  value: number;
  coverage: number;
  before: { median: number; n: number } | null;
  beside: { median: number; n: number } | null;
  z: number | null;
}

export interface Series {
  counter: string;
  device: string;
  unit: string;
  title: string;
  points: [number, number][];
}

export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface RequestItem {
  time: string;
  trace_id: string;
  request_id: string;
  service: string;
  model: string;
  tenant: string;
  node: string;
  status: string;
  prompt_tokens: number | null;
  output_tokens: number | null;
  value_ms?: number | null;
  ttft_ms: number | null;
  tpot_ms: number | null;
  e2e_ms: number | null;
  stages_ms: Record<string, number | null>;
}

export interface ReportItem {
  time: string;
  incident: string;
  state: "open" | "small" | "over" | "lasting" | string;
  onset: string;
  service: string;
  model: string;
  metric: Metric;
  quantile: number;
  where: Record<string, string>;
  verdict: Why["verdict"];
  layer: string;
  delta_ms: number | null;
  hash: string;
  report?: Why;
}

export interface Objective {
  name: string;
  title: string;
  class: string;
  where: Record<string, string> | string;
  limits: { metric: Metric; ms: number }[];
  joint: boolean;
  target: number;
  window_s: number;
  attained: number | null;
  good: number;
  total: number;
  budget_left: number | null;
  burn: { window_s: number; rate: number | null }[];
  state: "ok" | "warn" | "page" | "no data";
  marginal: Record<string, number | null>;
  history?: { time: string; good: number; total: number }[];
}

export interface Quantiles {
  points: (Record<string, string> & { end: string; n: number; ms: number | null })[];
}
