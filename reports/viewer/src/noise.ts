// SPDX-License-Identifier: Apache-2.0
// How well each measured point repeats: one standard deviation over its time.

import type { Chart } from "./charts";
import { escape, seconds_text, seconds_tick, spoken, visible } from "./format";
import type { Report } from "./report";
import { kSeriesColours, kSeriesShapes } from "./series";
import { base_option, kLegend, value_axis, type Theme } from "./theme";

export function noise_chart(report: Report, theme: Theme): Chart | null {
  const kinds = report.calibration?.noise?.kinds ?? [];
  if (kinds.length === 0) return null;
  const count = kinds.reduce((sum, kind) => sum + kind.points.length, 0);
  return {
    height: 260,
    crowded: count > 1000,
    option: {
      ...base_option(theme),
      legend: kLegend,
      grid: { left: 56, right: 24, top: 12, bottom: 48 },
      xAxis: { ...value_axis(theme, "measured time (logarithmic)"), type: "log" as const, axisLabel: { color: theme.soft, formatter: seconds_tick, hideOverlap: true } },
      yAxis: { ...value_axis(theme, "one standard deviation, % of it"), nameGap: 40 },
      tooltip: {
        ...base_option(theme).tooltip,
        formatter: (item: { seriesName: string; value: [number, number] }) =>
          `${escape(item.seriesName)}: ${seconds_text(item.value[0])}, ${item.value[1].toFixed(1)} %`,
      },
      series: kinds.map((kind, index) => ({
        name: spoken(visible(kind.kind)),
        type: "scatter",
        symbol: kSeriesShapes[index % kSeriesShapes.length],
        symbolSize: 8,
        itemStyle: { color: kSeriesColours[index % kSeriesColours.length], opacity: 0.8 },
        data: kind.points.map(([median, spread]) => [median, spread * 100]),
      })),
    },
  };
}
