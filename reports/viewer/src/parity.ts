// SPDX-License-Identifier: Apache-2.0
// Predicted against measured step time of what was executed; on the diagonal both agree. Many points
// have the number of their row in the table.

import type { Chart } from "./charts";
import { kDrawing } from "./drawing";
import { escape, seconds_text, visible } from "./format";
import type { Comparison, Report } from "./report";
import { base_option, value_axis, type Theme } from "./theme";
import { whiskers } from "./whiskers";

interface Item {
  data: { comparison: Comparison };
}

const kLargest = 520; // pixels: on the diagonal both axes must be as long

export function parity_chart(report: Report, theme: Theme, width: number): Chart | null {
  const layouts = report.validation?.layouts ?? [];
  if (layouts.length === 0) return null;
  const times = layouts.flatMap((c) => [c.measured_seconds, c.predicted_low_seconds, c.predicted_high_seconds]);
  const unit = Math.max(...times) < 1 ? { name: "ms", scale: 1e3 } : { name: "s", scale: 1 };
  const side = Math.min(width, kLargest);
  const low = Math.min(...times) * 0.9 * unit.scale;
  const high = Math.max(...times) * 1.1 * unit.scale;
  const axis = (name: string) => ({
    ...value_axis(theme, `${name}, ${unit.name}`),
    min: low,
    max: high,
    axisLabel: { color: theme.soft, showMinLabel: false, showMaxLabel: false, formatter: (v: number) => `${Number(v.toPrecision(4))}` },
  });
  return {
    width: side,
    height: side - 30, // the margins: 64 + 30 wide, 16 + 48 high
    option: {
      ...base_option(theme),
      grid: { left: 64, right: 30, top: 16, bottom: 48 },
      xAxis: axis("measured"),
      yAxis: { ...axis("predicted"), nameGap: 48 },
      tooltip: {
        ...base_option(theme).tooltip,
        formatter: (item: Item) => tooltip(item.data.comparison),
      },
      series: [
        {
          type: "line",
          silent: true,
          symbol: "none",
          lineStyle: { color: theme.soft, type: "dashed", width: 1 },
          data: [
            [low, low],
            [high, high],
          ],
        },
        {
          type: "scatter",
          symbolSize: 12,
          itemStyle: { color: kDrawing.accent, borderColor: theme.page },
          label: {
            show: true,
            position: "right",
            color: theme.soft,
            formatter: (item: Item) => (layouts.length <= 12 ? visible(item.data.comparison.run_name) : `${layouts.indexOf(item.data.comparison) + 1}`),
          },
          labelLayout: { hideOverlap: true },
          data: layouts.map((comparison) => ({
            value: [comparison.measured_seconds * unit.scale, comparison.predicted_seconds * unit.scale],
            comparison,
          })),
        },
        whiskers(
          layouts.map((c) => ({
            at: c.measured_seconds * unit.scale,
            low: c.predicted_low_seconds * unit.scale,
            high: c.predicted_high_seconds * unit.scale,
          })),
          theme.soft,
        ),
      ],
    },
  };
}

function tooltip(c: Comparison): string {
  const error = (c.predicted_seconds / c.measured_seconds - 1) * 100;
  return (
    `<b>${escape(visible(c.run_name))}</b><br>predicted ${seconds_text(c.predicted_seconds)}, ` +
    `measured ${seconds_text(c.measured_seconds)} (${error >= 0 ? "+" : ""}${error.toFixed(1)} %)`
  );
}
