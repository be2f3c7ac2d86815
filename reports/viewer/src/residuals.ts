// SPDX-License-Identifier: Apache-2.0
// What the fitted models miss at each measured point, over the measured time.

import type { Chart } from "./charts";
import { escape, seconds_text, visible } from "./format";
import type { MeasuredPoint, Report } from "./report";
import { base_option, legend, value_axis, type Theme } from "./theme";
import { whiskers } from "./whiskers";

const kColours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a7a7a"];
const kShapes = ["circle", "triangle", "rect", "diamond", "pin", "arrow", "roundRect", "circle"];

interface Item {
  seriesName: string;
  data: { point: MeasuredPoint };
}

export function residuals_chart(report: Report, theme: Theme, narrow: boolean): Chart | null {
  const measured = report.calibration?.measured ?? [];
  if (measured.length === 0) return null;
  const rows = Math.ceil(measured.length / (narrow ? 1 : 4));
  const points = measured.flatMap((series) => series.points);
  return {
    height: 300 + 24 * rows,
    crowded: points.length > 1000,
    option: {
      ...base_option(theme),
      legend: legend(theme),
      grid: { left: 56, right: 24, top: 12 + 24 * rows, bottom: 48 },
      xAxis: { ...value_axis(theme, "measured time"), type: "log" as const, axisLabel: { color: theme.soft, formatter: seconds_text } },
      yAxis: { ...value_axis(theme, "fitted / measured - 1, %"), nameGap: 40 },
      tooltip: { ...base_option(theme).tooltip, formatter: (item: Item) => tooltip(item) },
      series: [
        ...measured.map((series, index) => ({
          name: visible(series.name),
          type: "scatter",
          symbol: kShapes[index % kShapes.length],
          symbolSize: 9,
          itemStyle: { color: kColours[index % kColours.length] },
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
