// SPDX-License-Identifier: Apache-2.0
// The parts of report.json that charts are drawn from (reports/schema/report.schema.json).

export interface Term {
  name: string;
  seconds: number;
  provenance: string;
}

export interface RankedLayout {
  rank: number;
  short_name: string;
  brief_name: string;
  layout: { tensor_parallel_size: number; recompute_granularity: string };
  step_time_seconds: number;
  step_time_low_seconds: number;
  step_time_high_seconds: number;
  relative_to_best: number;
  tokens_per_second_per_gpu: number;
  model_flops_utilization: number;
  peak_memory_bytes: number;
  provenance: string;
  pareto: boolean;
  terms: Term[];
  compared_with_next: { sentence: string } | null;
}

// A layout that obeys every rule and needs more memory than there is.
export interface TooLarge {
  short_name: string;
  step_time_seconds: number;
  peak_memory_bytes: number;
  reason: string;
}

export interface GroupVolume {
  group: string;
  tier: string;
  group_size: number;
  sent_bytes: number;
}

export interface StageMemory {
  stage: number;
  total_bytes: number;
  [part: string]: number;
}

export interface Cell {
  tensor_parallel_size: number;
  pipeline_parallel_size: number;
  step_time_seconds: number | null;
  short_name?: string;
  rule?: string;
  reason?: string;
}

export type Event = [stage: number, begin: number, end: number, work: string, microBatch: number, chunk: number];

export interface Timeline {
  stages: number;
  total_seconds: number;
  events: Event[];
}

export interface TermComparison {
  name: string;
  predicted_seconds: number;
  measured_seconds: number;
}

export interface Comparison {
  name: string;
  run_name: string;
  terms: TermComparison[];
  predicted_seconds: number;
  predicted_low_seconds: number;
  predicted_high_seconds: number;
  measured_seconds: number;
}

// A count that no layout fits has a reason, and nothing else.
export interface ScalePoint {
  gpus: number;
  step_time_seconds?: number;
  step_time_low_seconds?: number;
  step_time_high_seconds?: number;
  tokens_per_second_per_gpu: number;
  efficiency: number;
  short_name: string;
}

export interface AgainstRunnerUp {
  rank: number;
  brief_name: string;
  probability_winner_is_faster: number;
  difference_seconds: number;
  deviation_seconds: number;
}

export interface Turned {
  factor: number;
  step_time_seconds: number;
  best: { short_name: string };
}

export interface Sensitivity {
  label: string;
  unit: string;
  value: number;
  provenance: string;
  low: Turned;
  high: Turned;
}

export interface Crossover {
  label: string;
  factor: number;
  sentence: string;
}

export interface Answers {
  confidence: { against: AgainstRunnerUp[] } | null;
  sensitivity: Sensitivity[];
  crossovers: Crossover[];
}

// Time that sending takes on a link, over the step's.
export interface LinkLoad {
  link: string;
  tier: string;
  groups: string[];
}

export interface AxisPlace {
  group: string;
  tier: string;
  share_of_step: number;
}

export interface NoiseKind {
  kind: string;
  points: [median_seconds: number, relative_spread: number][];
}

export interface MeasuredPoint {
  what: string;
  measured_seconds: number;
  fitted_seconds: number;
  residual: number;
  relative_spread: number;
}

export interface Report {
  top: number; // of ranked: those that were asked for
  ranked: RankedLayout[];
  too_large: TooLarge[];
  volume: { groups: GroupVolume[] } | null;
  memory: { capacity_bytes: number; stages: StageMemory[] } | null;
  heat_map: {
    tensor_parallel_sizes: number[];
    pipeline_parallel_sizes: number[];
    cells: Cell[];
  } | null;
  timeline: Timeline | null;
  summary: { step_time_seconds: number } | null;
  answers: Answers | null;
  placement: { links: LinkLoad[]; axes: AxisPlace[] } | null;
  scaling: { points: ScalePoint[]; planned_gpus: number } | null;
  calibration: {
    measured: { name: string; points: MeasuredPoint[] }[];
    noise: { kinds: NoiseKind[] } | null;
  };
  validation: { layouts: Comparison[] } | null;
}

export function read_report(): Report {
  const element = document.getElementById("report");
  return JSON.parse(element?.textContent ?? "{}") as Report;
}
