// SPDX-License-Identifier: Apache-2.0
// What the fitted models miss at each measured point, over the measured time.

import type { Chart } from "./charts";
import { escape, seconds_text, seconds_tick, visible } from "./format";
import type { MeasuredPoint, Report } from "./report";
import { kSeriesColours, kSeriesShapes } from "./series";
import { base_option, kLegend, value_axis, type Theme } from "./theme";
import { whiskers } from "./whiskers";

interface Item {
  seriesName: string;
  data: { point: MeasuredPoint };
}

export function residuals_chart(report: Report, theme: Theme): Chart | null {
  const measured = report.calibration?.measured ?? [];
  if (measured.length === 0) return null;
  const points = measured.flatMap((series) => series.points);
  return {
    height: 300,
    crowded: points.length > 1000,
    option: {
      ...base_option(theme),
      legend: kLegend,
      grid: { left: 56, right: 24, top: 12, bottom: 48 },
      xAxis: { ...value_axis(theme, "measured time"), type: "log" as const, axisLabel: { color: theme.soft, formatter: seconds_tick, hideOverlap: true } },
      yAxis: { ...value_axis(theme, "fitted / measured - 1, %"), nameGap: 40 },
      tooltip: { ...base_option(theme).tooltip, formatter: (item: Item) => tooltip(item) },
      series: [
        ...measured.map((series, index) => ({
          name: visible(series.name),
          type: "scatter",
          symbol: kSeriesShapes[index % kSeriesShapes.length],
          symbolSize: 9,
          itemStyle: { color: kSeriesColours[index % kSeriesColours.length] },
          data: series.points.map((point) => ({ value: [point.measured_seconds, point.residual * 100], point })),
        })),
        whiskers(
          points.map((point) => ({
            at: point.measured_seconds,
            low: (point.residual - 2 * point.relative_spread) * 100,
            high: (point.residual + 2 * point.relative_spread) * 100,
          })),
          theme.soft,
        ),
      ],
    },
  };
}

function tooltip(item: Item): string {
  const point = item.data.point;
  const residual = point.residual * 100;
  return (
    `<b>${escape(visible(item.seriesName))}: ${escape(visible(point.what))}</b><br>measured ${seconds_text(point.measured_seconds)}, ` +
    `fitted ${seconds_text(point.fitted_seconds)} (${residual >= 0 ? "+" : ""}${residual.toFixed(1)} %)`
  );
}
