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

export interface Comparison {
  name: string;
  run_name: string;
  predicted_seconds: number;
  predicted_low_seconds: number;
  predicted_high_seconds: number;
  measured_seconds: number;
}

export interface ScalePoint {
  gpus: number;
  step_time_seconds: number | null;
  step_time_low_seconds: number;
  step_time_high_seconds: number;
  tokens_per_second: number;
  tokens_per_second_per_gpu: number;
  efficiency: number;
  short_name: string;
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
  scaling: { counts: ScalePoint[] } | null;
  calibration: { measured: { name: string; points: MeasuredPoint[] }[] };
  validation: { layouts: Comparison[] } | null;
}

export function read_report(): Report {
  const element = document.getElementById("report");
  return JSON.parse(element?.textContent ?? "{}") as Report;
}
