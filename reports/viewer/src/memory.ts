// SPDX-License-Identifier: Apache-2.0
// Stacked bars: what one GPU of each pipeline stage holds, against the device's capacity.

import type { Chart } from "./charts";
import { kDrawing } from "./drawing";
import { escape, kGibibyte, memory_text, significant, spoken } from "./format";
import { device_noun } from "./nouns";
import { paint_of } from "./paint";
import type { Report, StageMemory } from "./report";
import { base_option, category_axis, kLegend, value_axis, type Theme } from "./theme";

const kMebibyte = 1048576;
const kFarFromFull = 0.2; // of the capacity: bars against it would be slivers

const kParts = [
  "weights",
  "gradients",
  "optimizer",
  "activations",
  "recompute_workspace",
  "operator_workspace",
  "logits",
  "communication_buffers",
  "reserve",
];

export function memory_chart(report: Report, theme: Theme): Chart | null {
  if (report.memory === null) return null;
  const { capacity_bytes } = report.memory;
  const stages = report.memory.stages as unknown as StageMemory[];
  const parts = kParts.filter((part) => stages.some((stage) => stage[`${part}_bytes`] > 0));
  const fullest = Math.max(...stages.map((stage) => stage.total_bytes));
  const is_small = fullest < kFarFromFull * capacity_bytes;
  const [scale, unit] = is_small && fullest < kGibibyte ? [kMebibyte, "MiB"] : [kGibibyte, "GiB"];
  const capacity = capacity_bytes / scale;
  const end = is_small ? {} : { max: Math.ceil(capacity * 1.02) };
  const name = `memory of one ${device_noun(report)}, ${unit}${is_small ? `; it has ${memory_text(capacity_bytes)}` : ""}`;
  return {
    height: Math.min(24 * stages.length, 900) + 90,
    option: {
      ...base_option(theme),
      legend: kLegend,
      grid: { left: 8, right: 40, top: 22, bottom: 44, containLabel: true },
      tooltip: {
        ...base_option(theme).tooltip,
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (items: { dataIndex: number }[]) => tooltip(stages[items[0].dataIndex], parts, capacity_bytes),
      },
      // Without its own end the axis would hide a capacity line that no bar reaches.
      xAxis: { ...value_axis(theme, name), ...end, axisLabel: { color: theme.soft, showMaxLabel: false } },
      yAxis: { ...category_axis(theme, stages.map((stage) => `stage ${stage.stage}`)), inverse: true },
      series: parts.map((part, index) => ({
        name: spoken(part),
        type: "bar",
        stack: "memory",
        barMaxWidth: 22,
        itemStyle: paint_of(part),
        data: stages.map((stage) => stage[`${part}_bytes`] / scale),
        markLine: index === 0 && !is_small ? capacity_line(capacity, theme) : undefined,
      })),
    },
  };
}

function capacity_line(capacity: number, theme: Theme): object {
  return {
    silent: true,
    symbol: "none",
    lineStyle: { color: kDrawing.limit, width: 2, type: "solid" },
    label: { formatter: `${significant(capacity, 3)} GiB`, color: theme.text, position: "start" },
    data: [{ xAxis: capacity }],
  };
}

function tooltip(stage: StageMemory, parts: string[], capacity: number): string {
  const lines = parts.map((part) => `${escape(spoken(part))}: ${memory_text(stage[`${part}_bytes`])}`);
  const head = `<b>stage ${stage.stage}</b>: ${memory_text(stage.total_bytes)} of ${memory_text(capacity)}`;
  return `${head}<br>${lines.join("<br>")}`;
}
