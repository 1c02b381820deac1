// SPDX-License-Identifier: Apache-2.0
//
// What each job takes and gives: src/jobs/*.c, as types. Units are in the names, as in C.

export type Format = "FP16" | "BF16" | "NF4" | "NF4-DQ" | "INT8" | "W8A16" | "Q4_0" | "Q8_0" | "FP8";
export type Profile = "v1.1-core" | "paired-1" | "dataset-eligible";
export type Bound =
  | "launch-bound"
  | "bandwidth-bound"
  | "compute-bound"
  | "kernel-bound"
  | "power-capped"
  | "throttled"
  | "unknown";

/** Where a number comes from, strongest first. */
export type Basis =
  | "measured"
  | "replayed"
  | "computed"
  | "interpolated"
  | "extrapolated"
  | "estimated"
  | "modelled"
  | "unavailable";
export type Rules = "current" | "published-1.1";
export type Confidence = "high" | "medium" | "low";
export type Recommendation = "quantize" | "do_not_quantize" | "depends";
export type Objective = "min_energy" | "min_latency" | "max_throughput" | "min_vram";

type Empty = Record<string, never>;

export interface JobInfo {
  name: string;
  summary: string;
}

export interface ModelShape {
  name: string;
  hf_id: string;
  family: string;
  params_b: number;
  params: number;
  layers: number;
  width: number;
  /** Read and written by one decoded token at position 256, FP16 head, batch 1. */
  bytes_per_token: Record<Format, number>;
}

export interface Card {
  name: string;
  family: string;
  vram_gb: number;
  mem_bw_gb_per_s: number;
  fp16_tflops: number;
  tdp_w: number;
  /** Without a context, where somebody measured it. */
  idle_w: number | null;
  source: string;
}

/** A row of data/anchors.csv; energies in J per 1000 tokens, "" and null where the source does not say. */
export interface Anchor {
  id: string;
  gpu: string;
  arch: string;
  model: string;
  precision: string;
  engine: string;
  stack: string;
  session: string;
  window: string;
  doi: string;
  licence: string;
  note: string;
  params_b: number;
  n_trials: number;
  vram_gb: number | null;
  batch: number | null;
  context: number | null;
  energy_fp16_j1k: number | null;
  energy_quant_j1k: number | null;
  energy_fp16_sd_j1k: number | null;
  energy_quant_sd_j1k: number | null;
  throughput_quant_tok_s: number | null;
  power_quant_w: number | null;
  delta_pct: number | null;
  in_published_fit: boolean;
}

export interface ArchitectureEntry {
  label: string;
  borrows_from?: string;
  precisions: Record<string, { measured_range_b: [number, number]; crossover_b: number | null }>;
}

/** What is left out is as the command line has it: published rules, rows behind the published curves, 2000 refits. */
export interface FitRequest {
  /** A table of energies; the built-in one if it is not given. */
  csv?: string;
  name?: string;
  rules?: Rules;
  engine?: string;
  rows?: "published" | "all";
  seed?: number;
  bootstraps?: number;
}

/** dE%(N) = A - S x / (1 + x), x = N / Nstar, N in billions of parameters. */
export interface Curve {
  A: number;
  S: number;
  Nstar: number;
  resid_std: number;
  n_min: number;
  n_max: number;
  crossover_b: number | null;
  anchors: (CurveAnchor & { basis: Basis })[];
  loo_mae: number | null;
}

export interface FittedCurve extends Curve {
  bounds: { A: [number, number]; S: [number, number]; Nstar: [number, number] };
  at_bound: ("A" | "S" | "Nstar")[];
  /** Over sessions drawn with replacement; null below two sessions or where none was asked for. */
  band: {
    n_sessions: number;
    n_bootstraps: number;
    points: { N: number; lo: number; hi: number }[];
    crossover_share: number;
    crossover_b: [number, number] | null;
  } | null;
  warnings: string[];
}

/** A curves.json. */
export interface Curves<C extends Curve = Curve> {
  model: string;
  s_cap: Record<string, number>;
  arch_label: Record<string, string>;
  borrow: Record<string, string>;
  /** By class, then precision. */
  curves: Record<string, Record<string, C>>;
  fp16_energy: Record<
    string,
    { n_min: number; n_max: number; anchors: { N: number; e_j1k: number; model: string; gpu: string }[] }
  >;
  hardware: Record<string, { gpu: string; mem_bw_gbps: number; fp16_tflops: number; source: string }>;
}

export interface Fit extends Curves<FittedCurve> {
  fit: {
    rules: Rules;
    rows: number;
    rows_left_out: number;
    loo_points: number;
    loo_mae: number | null;
    seed: string;
  };
}

/** What is left out takes the values of the published measurements: NF4, batch 1, context 2048. */
export interface EstimateRequest {
  params_b: number;
  /** A class ("ada") or, under the current rules, a card ("RTX 3090"). */
  arch: string;
  precision?: string | null;
  batch?: number | null;
  ctx?: number | null;
  model?: string | null;
  /** As `stacks` lists it; transformers if it is not given. The current rules only, as is `stack`. */
  engine?: string | null;
  /** "bitsandbytes 0.45.5": of engine transformers. */
  stack?: string | null;
  rules?: Rules;
  /** The text of a curves.json instead of the published curves. */
  curves?: string;
}

/** `model` counts at its own size. */
export interface EstimateCurveRequest extends Omit<EstimateRequest, "params_b"> {
  /** At most 256, in billions. */
  sizes: number[];
}

export type EstimateSource = "anchors" | "curve" | "energy_model";

/** Rounded as an estimate is; or why there is none of this size. */
export type EstimatePoint =
  | { params_b: number; delta_pct: number; ci: [number, number]; basis: Basis; source: EstimateSource }
  | { params_b: number; error: string };

export interface EstimateCurve {
  points: EstimatePoint[];
  /** Of the class or card, precision, engine and stack that were asked for; null where nothing was measured. */
  measured_range_b: [number, number] | null;
}

/** One result for `cases`; what its source does not tell is left out or null. */
export interface SessionResult {
  id: string;
  gpu: string;
  model: string;
  params_b: number;
  precision: string;
  engine: string;
  stack?: string | null;
  session: string;
  window: string;
  /** 1 where it is not told. */
  batch?: number | null;
  context?: number | null;
  delta_pct: number;
  /** By repetition. */
  ci95_pct?: [number, number] | null;
  /** u_expanded of the energy ratio. */
  expanded_pct?: number | null;
}

/**
 * One session; all within 10 points and, where intervals are stated, within them; within 10 points but farther apart than
 * they state; farther apart than 10 points; saving in one and costing in another.
 */
export type Agreement = "single" | "agree" | "beyond" | "differ" | "sign";

/** A card, model, precision, engine, batch, context and window. */
export interface MeasuredCase {
  gpu: string;
  model: string;
  params_b: number;
  precision: string;
  engine: string;
  window: string;
  batch: number;
  context: number | null;
  sessions: number;
  /** Named ones. */
  stacks: number;
  /** Smallest and largest change, and the points between them. */
  lo_pct: number;
  hi_pct: number;
  spread_pct: number;
  /** Pairs of results of two sessions that state an interval, and those of them that are farther apart than they state. */
  pairs_stated: number;
  pairs_beyond: number;
  agreement: Agreement;
  /** The worst among sessions that name one stack. */
  same_stack: Agreement;
  /** The points that `agreement` is judged by: farther apart is "differ". */
  differ_above_pct: number;
  /** Ids. */
  rows: string[];
}

/** One engine and what tells its stacks apart, in the order of the table. */
export interface Stack {
  engine: string;
  /** "bitsandbytes 0.45.5"; null where the source names none, and for an engine without it. */
  stack: string | null;
  rows: number;
  sessions: number;
  cards: string[];
  precisions: string[];
}

export interface CurveAnchor {
  N: number;
  dE: number;
  model: string;
  gpu: string;
  n?: number;
}

export interface Estimate {
  input: {
    params_b: number;
    arch: string;
    card?: string;
    precision: string;
    engine?: string;
    stack?: string;
    batch: number;
    ctx: number;
  };
  delta_pct: number;
  ci: [number, number];
  basis: Basis;
  confidence: Confidence;
  recommendation: Recommendation;
  verdict: string;
  crossover_b: number | null;
  anchors: CurveAnchor[];
  arch_used: string;
  modelled: boolean;
  weight_gb: number;
  weight_gb_fp16: number;
  notes: string[];
  /** The current rules only, as is what follows. */
  source?: EstimateSource;
  gate?: { zone: "undecided" | "lock_fp16" | "allow_quant"; threshold_b: number | null };
  energy?: {
    fp16_mj_per_token: number | null;
    mj_per_token: number | null;
    fp16_j_per_token: number | null;
    j_per_token: number | null;
    basis: Basis;
  };
  rules?: Rules;
}

export interface OptimizeRequest {
  params_b: number;
  arch: string;
  model?: string | null;
  objective?: Objective | null;
  max_latency_ms?: number | null;
  max_vram_gb?: number | null;
  min_throughput?: number | null;
  precisions?: string[] | null;
  batches?: number[] | null;
  contexts?: number[] | null;
  rules?: Rules;
  curves?: string;
}

export interface Configuration {
  precision: string;
  batch: number;
  context: number;
  energy_j_per_1k_tokens: number | null;
  /** The published rules put J per token under this name. */
  energy_mj_per_token: number | null;
  energy_j_per_token?: number | null;
  energy_rel_fp16: number;
  delta_pct_vs_fp16: number;
  latency_ms_per_token: number | null;
  throughput_tok_s: number | null;
  bound: "compute" | "memory" | "launch" | null;
  vram_gb: number;
  basis: { energy: string | null; latency: string; vram: string };
  confidence: Confidence;
  role: string;
  summary: string;
}

export interface Alternative extends Configuration {
  vs_recommended: {
    energy_pct: number | null;
    latency_pct: number | null;
    throughput_pct: number | null;
    vram_pct: number | null;
  };
}

export interface Optimum {
  input: {
    params_b: number;
    arch: string;
    card?: string;
    model?: string;
    objective: Objective;
    constraints: { max_latency_ms: number | null; max_vram_gb: number | null; min_throughput: number | null };
    grid: { precisions: string[]; batches: number[]; contexts: number[] };
    candidates: number;
  };
  basis: { energy: string; latency: string; vram: string };
  feasible_count: number;
  recommended: Configuration | null;
  closest_infeasible: Configuration | null;
  alternatives: Alternative[];
  pareto_energy_latency: Pick<
    Configuration,
    "precision" | "batch" | "context" | "energy_j_per_1k_tokens" | "latency_ms_per_token"
  >[];
  notes: string[];
  rules?: Rules;
}

export interface QueryAnswer {
  /** null where the question does not say. */
  request: {
    params_b: number | null;
    arch: string | null;
    precision: string | null;
    batch: number | null;
    ctx: number | null;
    model: string | null;
    engine?: string;
    stack?: string;
  };
  /** The card that told the class. */
  card: string | null;
  /** The first word that would change the answer and was not understood. */
  unread?: string;
}

/** An energy.json as text: numbers keep the digits that they were written with. */
export interface ReportRequest {
  report: string;
  /** What messages call it; "energy.json" if it is not given. */
  name?: string;
}

export interface ValidateAnswer {
  valid: boolean;
  /** Only where a profile was asked for. */
  profile?: Profile;
  verdict?: "schema-invalid" | "schema-valid" | "protocol-conformant" | "dataset-eligible";
  findings: string[];
}

export interface TraceText {
  /** As power_trace.files[].file of the report names it. */
  file: string;
  text: string;
}

export interface RecomputeAnswer {
  /** Every headline number follows from the traces. */
  follows: boolean;
  findings: string[];
}

export interface CheckRequest extends ReportRequest {
  /** Half-width of the band in sigmas; 2. */
  k?: number;
  /** Grade a report of another engine or window too. */
  across_stacks?: boolean;
  rules?: Rules;
  curves?: string;
}

export interface Check {
  result: "within" | "outside" | "not_gradable";
  /** Why it cannot be graded. */
  reason: string | null;
  arch_used: string | null;
  borrowed: boolean;
  measured_pct: number | null;
  reference_pct: number | null;
  reference: "anchors of this size" | "curve" | null;
  anchors: number;
  curve_pct: number | null;
  sigma_pct: number | null;
  band_pct: number | null;
  across_stacks: boolean;
  stacks: string | null;
}

/** null where the report does not tell. */
export interface ExplainedArm {
  precision: string | null;
  role: string | null;
  bound: Bound | null;
  bound_in_report: string | null;
  kernels: string | null;
  bytes_per_token: number | null;
  bytes_linear: number | null;
  bytes_head: number | null;
  bytes_kv: number | null;
  bytes_other: number | null;
  flops_per_token: number | null;
  token_us: number | null;
  step_us: number | null;
  layer_us: number | null;
  roofline_us: number | null;
  bandwidth_share: number | null;
  matrix_flop_per_s: number | null;
  compute_share: number | null;
  energy_per_token_mj: number | null;
  roofline_mj: number | null;
  energy_over_roofline: number | null;
  launches_per_step: number | null;
  launch_share: number | null;
  power_w: number | null;
  advice: string | null;
}

export interface Explanation {
  model: string | null;
  gpu: string | null;
  engine: string | null;
  batch: number | null;
  layers: number | null;
  position_mean: number | null;
  read_bandwidth_gb_per_s: number | null;
  read_mj_per_gb: number | null;
  launch_us: number | null;
  power_limit_w: number | null;
  matrix_rate_from: string | null;
  arms: ExplainedArm[];
  why: string | null;
}

/** A link, or why the report has none. */
export interface ShareAnswer {
  share_url: string | null;
  reason: string | null;
}

/** What a link claims; nothing in it is signed. */
export interface SharedPoint {
  model: string;
  params_b: number;
  arch: string | null;
  precision: string;
  delta_pct: number;
  basis: Basis;
  gpu: string | null;
  engine: string | null;
  weights: string | null;
  source: string | null;
}

export interface CompareRequest {
  reports: ReportRequest[];
  across_stacks?: boolean;
}

/** One report against the first; the numbers are null unless the comparison is sound. */
export interface Comparison {
  a: string;
  b: string;
  result: "sound" | "nothing" | "not_sound";
  difference_pct: number | null;
  half_width_pct: number | null;
  energies_comparable: boolean;
  reasons: string[];
  notes: string[];
}

export interface CompareAnswer {
  across_stacks: boolean;
  /** Per report its name as `report`, and facts by their path in the report. */
  reports: Record<string, string | number | null>[];
  comparisons: Comparison[];
}

/** One row a job of src/jobs/jobs.def. */
export interface Jobs {
  jobs: { request: Empty; answer: JobInfo[] };
  models: { request: Empty; answer: ModelShape[] };
  cards: { request: Empty; answer: Card[] };
  anchors: { request: Empty; answer: Anchor[] };
  architectures: { request: Empty; answer: Record<string, ArchitectureEntry> };
  curves: { request: Empty; answer: Curves };
  fit: { request: FitRequest; answer: Fit };
  estimate: { request: EstimateRequest; answer: Estimate };
  estimate_curve: { request: EstimateCurveRequest; answer: EstimateCurve };
  stacks: { request: Empty; answer: Stack[] };
  /** Of the tidy table, or of the results. */
  cases: { request: { results?: SessionResult[] }; answer: MeasuredCase[] };
  optimize: { request: OptimizeRequest; answer: Optimum };
  query: { request: { text: string; rules?: Rules }; answer: QueryAnswer };
  validate: { request: ReportRequest & { profile?: Profile }; answer: ValidateAnswer };
  recompute: { request: ReportRequest & { traces: TraceText[] }; answer: RecomputeAnswer };
  summary: { request: ReportRequest; answer: { lines: string[] } };
  explain: { request: ReportRequest; answer: Explanation };
  check: { request: CheckRequest; answer: Check };
  share_encode: { request: ReportRequest & { site?: string }; answer: ShareAnswer };
  share_decode: { request: { url: string }; answer: SharedPoint[] };
  compare: { request: CompareRequest; answer: CompareAnswer };
}

export type JobName = keyof Jobs;
