// SPDX-License-Identifier: Apache-2.0
// Throughput over the number of GPUs, with the line on which a GPU does as much as in this plan.

import type { Chart } from "./charts";
import { escape, seconds_text, significant, visible } from "./format";
import type { Report, ScalePoint } from "./report";
import { base_option, legend, value_axis, type Theme } from "./theme";
import { whiskers } from "./whiskers";

interface Item {
  data: { point: ScalePoint };
}

const kMillion = 1e6;

export function scaling_chart(report: Report, theme: Theme): Chart | null {
  const points = (report.scaling?.counts ?? []).filter((point) => point.step_time_seconds !== null);
  const here = points.find((point) => point.efficiency === 1) ?? points[0];
  if (points.length < 2) return null;
  const tokens = (point: ScalePoint, time: number) => (point.tokens_per_second * (point.step_time_seconds as number)) / time / kMillion;
  const largest = Math.max(...points.map((point) => point.tokens_per_second));
  const per_gpu = here.tokens_per_second_per_gpu / kMillion;
  const last = points[points.length - 1].gpus;
  return {
    height: 340,
    option: {
      ...base_option(theme),
      legend: legend(theme),
      grid: { left: 60, right: 40, top: 36, bottom: 48 },
      xAxis: { ...value_axis(theme, "GPUs"), min: 0, max: last },
      yAxis: { ...value_axis(theme, "tokens per second, millions"), nameGap: 48, axisLabel: { color: theme.soft, formatter: (v: number) => (largest < kMillion / 100 ? v.toExponential(0) : `${v}`) } },
      tooltip: { ...base_option(theme).tooltip, formatter: (item: Item) => tooltip(item.data.point) },
      series: [
        {
          name: "as many per GPU as in this plan",
          type: "line",
          silent: true,
          symbol: "none",
          lineStyle: { color: theme.soft, type: "dashed", width: 1 },
          itemStyle: { color: theme.soft },
          data: [
            [0, 0],
            [last, per_gpu * last],
          ],
        },
        {
          name: "best layout",
          type: "line",
          symbolSize: 10,
          lineStyle: { color: "#1f6fb4", width: 2 },
          itemStyle: { color: "#1f6fb4" },
          data: points.map((point) => ({ value: [point.gpus, point.tokens_per_second / kMillion], point })),
        },
        whiskers(
          points.map((point) => ({
            at: point.gpus,
            low: tokens(point, point.step_time_high_seconds),
            high: tokens(point, point.step_time_low_seconds),
          })),
          theme.soft,
        ),
      ],
    },
  };
}

function tooltip(point: ScalePoint): string {
  return (
    `<b>${point.gpus} GPUs</b>: ${seconds_text(point.step_time_seconds as number)} a step, ` +
    `${significant(point.tokens_per_second_per_gpu)} tokens/s/GPU<br>${escape(visible(point.short_name))}`
  );
}
