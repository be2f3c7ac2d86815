// SPDX-License-Identifier: Apache-2.0
// A tornado: what turning one input down and up does to the winner's step; longest bars first.

import type { Chart } from "./charts";
import { escape, seconds_text, significant, unit_text, visible } from "./format";
import type { Report, Sensitivity, Turned } from "./report";
import { base_option, category_axis, is_narrow, legend, value_axis, type Theme } from "./theme";

function percent(factor: number): string {
  return `${factor > 1 ? "+" : "\u2212"}${Math.abs((factor - 1) * 100).toFixed(0)} %`;
}

function name_of(s: Sensitivity, narrow: boolean): string {
  const today = s.unit === "" ? `${(s.value * 100).toFixed(0)} %` : `${significant(s.value, 3)} ${unit_text(s.unit)}`;
  return `${visible(s.label)}${narrow ? "\n" : ", "}${today}`;
}

export function tornado_chart(report: Report, theme: Theme, width: number): Chart | null {
  const narrow = is_narrow(width);
  const inputs = report.answers?.sensitivity ?? [];
  const step = report.summary?.step_time_seconds;
  if (inputs.length === 0 || step === undefined) return null;
  const change = (turned: Turned) => (turned.step_time_seconds / step - 1) * 100;
  const side = (which: "low" | "high", color: string, decal: object | undefined) => ({
    name: `input at ${percent(inputs[0][which].factor)}`,
    type: "bar",
    barWidth: 16,
    barGap: "-100%",
    itemStyle: { color, decal },
    data: inputs.map((s) => change(s[which])),
  });
  return {
    height: (narrow ? 56 : 30) * inputs.length + 96,
    option: {
      ...base_option(theme),
      legend: legend(theme),
      grid: { left: 8, right: 24, top: 36, bottom: 44, containLabel: true },
      xAxis: value_axis(theme, "change of the step, %"),
      yAxis: {
        ...category_axis(theme, inputs.map((s) => name_of(s, narrow))),
        inverse: true,
        axisLine: { onZero: false, lineStyle: { color: theme.line } },
        axisLabel: { color: theme.text, width: narrow ? 130 : 330, overflow: "break" },
      },
      tooltip: {
        ...base_option(theme).tooltip,
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (items: { dataIndex: number }[]) => tooltip(inputs[items[0].dataIndex], step),
      },
      series: [
        side("low", "#e07b39", { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [1.5, 5], rotation: -Math.PI / 4, color: "rgba(255,255,255,.55)" }),
        side("high", "#1f6fb4", undefined),
      ],
    },
  };
}

function tooltip(s: Sensitivity, step: number): string {
  const line = (turned: Turned) =>
    `${percent(turned.factor)}: ${seconds_text(turned.step_time_seconds)} ` +
    `(${((turned.step_time_seconds / step - 1) * 100).toFixed(1)} %)`;
  return `<b>${escape(visible(s.label))}</b> (${escape(s.provenance)})<br>${line(s.low)}<br>${line(s.high)}`;
}
