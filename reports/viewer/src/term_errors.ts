// SPDX-License-Identifier: Apache-2.0
// What each term of the prediction is off by in every run, as a share of the measured step.

import type { Chart } from "./charts";
import { escape, seconds_text, spoken, visible } from "./format";
import type { Comparison, Report, TermComparison } from "./report";
import { kSeriesColours } from "./series";
import { base_option, category_axis, is_narrow, kLegend, value_axis, type Theme } from "./theme";

const kMostRuns = 8; // side by side; the table has all

function term_of(run: Comparison, name: string): TermComparison | undefined {
  return run.terms.find((term) => term.name === name);
}

// In percent of the run's measured step.
function error_of(run: Comparison, name: string): number | null {
  const term = term_of(run, name);
  return term === undefined ? null : ((term.predicted_seconds - term.measured_seconds) / run.measured_seconds) * 100;
}

export function term_errors_chart(report: Report, theme: Theme, width: number): Chart | null {
  const narrow = is_narrow(width);
  const runs = (report.validation?.layouts ?? []).slice(0, kMostRuns);
  const all = [...new Set(runs.flatMap((run) => run.terms.map((term) => term.name)))];
  const names = all.filter((name) => runs.some((run) => Math.abs(error_of(run, name) ?? 0) > 0));
  if (names.length === 0) return null;
  const titles = runs.map((run, index) => `${index + 1}: ${visible(run.run_name)}`);
  const bar = Math.max(4, Math.min(12, 36 / runs.length));
  return {
    height: (bar + 2) * runs.length * names.length + 12 * names.length + 76,
    option: {
      ...base_option(theme),
      legend: kLegend,
      grid: { left: 8, right: 24, top: 12, bottom: 44, containLabel: true },
      xAxis: value_axis(theme, narrow ? "error, % of the step" : "predicted - measured, % of the measured step"),
      yAxis: {
        ...category_axis(theme, names.map(spoken)),
        inverse: true,
        axisLine: { onZero: false, lineStyle: { color: theme.line } },
        axisLabel: { color: theme.text, width: narrow ? 110 : 330, overflow: "break" },
      },
      tooltip: {
        ...base_option(theme).tooltip,
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (items: { dataIndex: number }[]) => tooltip(names[items[0].dataIndex], runs),
      },
      series: runs.map((run, index) => ({
        name: titles[index],
        type: "bar",
        barWidth: bar,
        itemStyle: { color: kSeriesColours[index % kSeriesColours.length] },
        data: names.map((name) => error_of(run, name)),
      })),
    },
  };
}

function tooltip(name: string, runs: Comparison[]): string {
  const lines = runs.flatMap((run, index) => {
    const term = term_of(run, name);
    if (term === undefined) return [];
    const error = error_of(run, name) ?? 0;
    return [
      `${index + 1}: ${seconds_text(term.predicted_seconds)} predicted, ${seconds_text(term.measured_seconds)} measured ` +
        `(${error >= 0 ? "+" : ""}${error.toFixed(1)} % of the step)`,
    ];
  });
  return `<b>${escape(spoken(name))}</b><br>${lines.join("<br>")}`;
}
