// SPDX-License-Identifier: Apache-2.0
// A tornado: what turning one input down and up does to the winner's step; longest bars first.

import type { Chart } from "./charts";
import { kDrawing } from "./drawing";
import { escape, seconds_text, significant, unit_text, visible } from "./format";
import { paint_of } from "./paint";
import { train_steps, type Report, type Sensitivity, type Turned } from "./report";
import { base_option, category_axis, is_narrow, kLegend, value_axis, type Theme } from "./theme";

const kDay = 86400;

// What the difference reads best in: the training's, or a step's.
function unit_of(longest: number, is_step: boolean): { name: string; seconds: number } {
  if (is_step) return longest >= 1 ? { name: "s", seconds: 1 } : { name: "ms", seconds: 1e-3 };
  if (longest >= kDay / 2) return { name: "days", seconds: kDay };
  return longest >= 1800 ? { name: "hours", seconds: 3600 } : { name: "minutes", seconds: 60 };
}

function name_of(s: Sensitivity, narrow: boolean): string {
  const today = s.unit === "" ? `${(s.value * 100).toFixed(0)} %` : `${significant(s.value, 3)} ${unit_text(s.unit)}`;
  return `${visible(s.label)}${narrow ? "\n" : ", "}${today} \u00b1${(s.relative_spread * 100).toFixed(0)} %`;
}

export function tornado_chart(report: Report, theme: Theme, width: number): Chart | null {
  const narrow = is_narrow(width);
  const inputs = report.answers?.sensitivity ?? [];
  const step = report.summary?.step_time_seconds;
  if (inputs.length === 0 || step === undefined) return null;
  const more = (turned: Turned) => (turned.step_time_seconds - step) * train_steps(report);
  const is_step = !report.decision.tokens_are_the_jobs;
  const unit = unit_of(Math.max(...inputs.flatMap((s) => [Math.abs(more(s.low)), Math.abs(more(s.high))])), is_step);
  const side = (which: "low" | "high", name: string, color: string, pattern: number, decal: object | undefined) => ({
    name,
    type: "bar",
    barWidth: 16,
    barGap: "-100%",
    itemStyle: { color, decal, pattern },
    data: inputs.map((s) => more(s[which]) / unit.seconds),
  });
  const striped = paint_of("backward_compute");
  return {
    height: (narrow ? 56 : 30) * inputs.length + 66,
    option: {
      ...base_option(theme),
      legend: kLegend,
      grid: { left: 8, right: 24, top: 6, bottom: 44, containLabel: true },
      xAxis: value_axis(theme, `${unit.name} more or less ${is_step ? "per step" : "for the training"}`),
      yAxis: {
        ...category_axis(theme, inputs.map((s) => name_of(s, narrow))),
        inverse: true,
        axisLine: { onZero: false, lineStyle: { color: theme.line } },
        axisLabel: { color: theme.text, width: narrow ? 130 : 380, overflow: "break" },
      },
      tooltip: {
        ...base_option(theme).tooltip,
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (items: { dataIndex: number }[]) => tooltip(inputs[items[0].dataIndex], step, (turned) => `${significant(more(turned) / unit.seconds, 3)} ${unit.name}`),
      },
      series: [side("low", "input 1\u03c3 down", kDrawing.contrast, 1, striped.decal), side("high", "input 1\u03c3 up, at most to its physical limit", kDrawing.accent, 0, undefined)],
    },
  };
}

function tooltip(s: Sensitivity, step: number, time: (turned: Turned) => string): string {
  const line = (turned: Turned) =>
    `\u00d7 ${significant(turned.factor, 3)}: ${time(turned)}, step ${seconds_text(turned.step_time_seconds)} ` +
    `(${((turned.step_time_seconds / step - 1) * 100).toFixed(1)} %)`;
  const cap = s.capped ? " (the physical limit)" : "";
  return `<b>${escape(visible(s.label))}</b> (${escape(s.provenance)})<br>${line(s.low)}<br>${line(s.high)}${cap}`;
}
