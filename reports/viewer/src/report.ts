// SPDX-License-Identifier: Apache-2.0
// The record as charts read it: the types of its schema (record.ts), and what the page adds.

import type { ReportRecord, Term } from "./record";

type Part<Key extends keyof ReportRecord> = NonNullable<ReportRecord[Key]>;

export type { Term };
export type Answers = Part<"answers">;
export type AgainstRunnerUp = NonNullable<Answers["confidence"]>["against"][number];
export type Sensitivity = Answers["sensitivity"][number];
export type Turned = Sensitivity["low"];
export type Crossover = Answers["crossovers"][number];
export type RankedLayout = Part<"ranked">[number];
export type TooLarge = Part<"too_large">[number];
export type GroupVolume = Part<"volume">["groups"][number];
export type StageMemory = Part<"memory">["stages"][number] & Record<string, number>; // "weights_bytes" ...
export type Cell = Part<"heat_map">["cells"][number];
export type Comparison = Part<"validation">["layouts"][number];
export type TermComparison = Comparison["terms"][number];
export type ScalePoint = Part<"scaling">["points"][number];
export type LinkLoad = Part<"placement">["links"][number];
export type AxisPlace = Part<"placement">["axes"][number];
export type NoiseKind = NonNullable<Part<"calibration">["noise"]>["kinds"][number];
export type MeasuredPoint = Part<"calibration">["measured"][number]["points"][number];

// Of "capacity", whose schema is its own (capacity.schema.json): what the page steps through.
export interface CapacityRun {
  gpus: number;
  global_batch: number;
  fits: boolean;
  limits: string[];
  layout?: string;
  step_s?: { mid: number };
  goodput?: number;
  days?: { p10: number; p50: number; p90: number };
  cost?: { p10: number; p50: number; p90: number; currency: string } | null;
  energy_mwh?: number | null;
  options?: string;
}
export interface Capacity {
  command: string;
  verdict: string;
  planned: string | null;
  recommended: string | null;
  closest: string | null;
  rows: (CapacityRun & { id: string })[];
  what_if: {
    axes: { batch_factor: number[]; gpus: number[]; network_factor: number[]; failure_rate: number[] };
    cells: CapacityRun[]; // batches outermost, failure rates innermost
  } | null;
}

// Places in the event_columns; `work` is a place in `works`.
export type Event = [stage: number, begin: number, end: number, work: number, microBatch: number, chunk: number];
export type Timeline = Omit<Part<"timeline">, "events"> & { events: Event[] };

// The page holds layouts beyond the first as short rows.
export type Report = Omit<ReportRecord, "timeline" | "capacity"> & {
  timeline: Timeline | null;
  capacity: Capacity | null;
  ranked_rest?: { columns: string[]; rows: unknown[][] };
};

const kNoLayout = { pipeline_parallel_size: 1, data_parallel_size: 1, zero_stage: 0 }; // no chart asks

// "tp8 pp16 recompute=full:1": what charts ask a layout of which the page has no more.
function layout_of(name: string): RankedLayout["layout"] {
  return {
    ...kNoLayout,
    tensor_parallel_size: Number(/(?:^| )tp(\d+)/.exec(name)?.[1] ?? 1),
    recompute_granularity: /(?:^| )recompute=([a-z]+)/.exec(name)?.[1] ?? "none",
  };
}

// Layouts beyond the first are short rows.
function rest_of(report: Report): RankedLayout[] {
  const { columns, rows } = report.ranked_rest ?? { columns: [], rows: [] };
  return rows.map((row) => {
    const layout = Object.fromEntries(columns.map((column, index) => [column, row[index]])) as unknown as RankedLayout;
    return { ...layout, layout: layout_of(layout.short_name), terms: [], compared_with_next: null };
  });
}

export function read_report(): Report {
  const element = document.getElementById("report");
  const report = JSON.parse(element?.textContent ?? "{}") as Report;
  if (report.ranked_rest !== undefined) report.ranked = [...report.ranked, ...rest_of(report)];
  return report;
}

// Steps of the training that the decision is about.
export function train_steps(report: Report): number {
  return report.summary === null ? 0 : Math.ceil(report.decision.train_tokens / report.summary.tokens_per_step);
}
