// SPDX-License-Identifier: Apache-2.0
// The record as charts read it: the types of its schema (record.ts), and what the page adds.

import type { LiveCapacity } from "./live";
import type { ReportRecord, Term } from "./record";

type Part<Key extends keyof ReportRecord> = NonNullable<ReportRecord[Key]>;

export type { Term };
export type Answers = Part<"answers">;
export type AgainstRunnerUp = NonNullable<Answers["confidence"]>["against"][number];
export type Sensitivity = Answers["sensitivity"][number];
export type Turned = Sensitivity["low"];
export type Crossover = Answers["crossovers"][number];
// Of the layout itself, what charts ask.
export type RankedLayout = Omit<Part<"ranked">[number], "layout"> & {
  layout: { tensor_parallel_size: number; recompute_granularity: string };
};
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

// Places in the event_columns; `work` is a place in `works`.
export type Event = [stage: number, begin: number, end: number, work: number, microBatch: number, chunk: number];
export type Timeline = Omit<Part<"timeline">, "events"> & { events: Event[] };

// [texts of the row in the ranking, numbers, name, provenance, Pareto].
type ShortRow = [texts: string[], numbers: number[], short_name: string, provenance: string, pareto: boolean];

// A layout as the page has it; of those beyond the first, with the texts of its row.
export type PageLayout = RankedLayout & { texts?: string[] };

// The page holds layouts beyond the first as short rows.
export type Report = Omit<ReportRecord, "timeline" | "capacity" | "ranked"> & {
  timeline: Timeline | null;
  capacity: LiveCapacity;
  ranked: PageLayout[];
  ranked_rest?: { numbers: string[]; rows: ShortRow[] };
};

// "tp8 pp16 recompute=full:1": what charts ask a layout of which the page has no more.
function layout_of(name: string): RankedLayout["layout"] {
  return {
    tensor_parallel_size: Number(/(?:^| )tp(\d+)/.exec(name)?.[1] ?? 1),
    recompute_granularity: /(?:^| )recompute=([a-z]+)/.exec(name)?.[1] ?? "none",
  };
}

// Layouts beyond the first are short rows.
function rest_of(report: Report): PageLayout[] {
  const { numbers, rows } = report.ranked_rest ?? { numbers: [], rows: [] };
  return rows.map(([texts, values, short_name, provenance, pareto]) => {
    const named = Object.fromEntries(numbers.map((name, index) => [name, values[index]]));
    const whole = { ...named, rank: Number(texts[0]), brief_name: texts[1], short_name, provenance, pareto, texts };
    return { ...whole, layout: layout_of(short_name), terms: [], compared_with_next: null } as unknown as PageLayout;
  });
}

export function read_report(): Report {
  const element = document.getElementById("report");
  const report = JSON.parse(element?.textContent ?? "{}") as Report;
  if (report.ranked_rest !== undefined) report.ranked = [...report.ranked, ...rest_of(report)];
  return report;
}

// Steps of the training that the decision is about; one where nobody stated its tokens.
export function train_steps(report: Report): number {
  if (report.summary === null || !report.decision.tokens_are_the_jobs) return 1;
  return Math.ceil((report.decision.train_tokens ?? 0) / report.summary.tokens_per_step);
}
