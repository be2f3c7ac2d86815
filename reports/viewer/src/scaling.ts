// SPDX-License-Identifier: Apache-2.0
// Throughput over the number of GPUs, with the line on which a GPU does as much as on the fewest, and
// the share of it that each count reaches.

import type { Chart } from "./charts";
import { kDrawing } from "./drawing";
import { escape, seconds_text, significant, visible } from "./format";
import { device_noun } from "./nouns";
import type { Report, ScalePoint } from "./report";
import { base_option, kLegend, value_axis, type Theme } from "./theme";
import { whiskers } from "./whiskers";

interface Item {
  data: { point: ScalePoint };
}

const kMillion = 1e6;

function tokens_per_second(point: ScalePoint): number {
  return ((point.tokens_per_second_per_gpu ?? 0) * point.gpus) / kMillion;
}

const kBend = 0.8; // speed gained over devices added, as planner/capacity/scaling_bend.h

// The first count that gains less.
function bend_of(points: ScalePoint[]): ScalePoint | undefined {
  return points.find((point, index) => {
    if (index === 0) return false;
    const before = points[index - 1];
    return (tokens_per_second(point) / tokens_per_second(before) - 1) / (point.gpus / before.gpus - 1) < kBend;
  });
}

export function scaling_chart(report: Report, theme: Theme): Chart | null {
  const all = (report.scaling?.points ?? []).filter((point) => point.step_time_seconds !== undefined);
  const points = [...all].sort((a, b) => a.gpus - b.gpus);
  if (points.length < 2) return null;
  const tokens_in = (point: ScalePoint, time: number | undefined) =>
    (tokens_per_second(point) * (point.step_time_seconds ?? 0)) / (time ?? point.step_time_seconds ?? 1);
  const largest = Math.max(...points.map(tokens_per_second));
  const few = largest < 0.01;  // millions
  const fewest = points[0];
  const last = points[points.length - 1].gpus;
  const planned = report.scaling?.planned_gpus;
  const bend = bend_of(points);
  const label_of = (point: ScalePoint): string => {
    const share = (tokens_per_second(point) / point.gpus / (tokens_per_second(fewest) / fewest.gpus)) * 100;
    return `${share.toFixed(0)} %${point === bend ? ", bend" : ""}${point.gpus === planned ? ", this plan" : ""}`;
  };
  return {
    height: 340,
    option: {
      ...base_option(theme),
      legend: kLegend,
      grid: { left: 60, right: 40, top: 36, bottom: 48 },
      xAxis: { ...value_axis(theme, device_noun(report, 2)), min: 0, max: last },
      yAxis: {
        ...value_axis(theme, few ? "tokens per second" : "tokens per second, millions"),
        nameGap: 48,
        axisLabel: { color: theme.soft, formatter: (v: number) => `${few ? Math.round(v * 1e6) : v}` },
      },
      tooltip: { ...base_option(theme).tooltip, formatter: (item: Item) => tooltip(item.data.point, report) },
      series: [
        {
          name: `as many per ${device_noun(report)} as on ${fewest.gpus}`,
          type: "line",
          silent: true,
          symbol: "none",
          lineStyle: { color: theme.soft, type: "dashed", width: 1 },
          itemStyle: { color: theme.soft },
          data: [
            [0, 0],
            [last, (tokens_per_second(fewest) / fewest.gpus) * last],
          ],
        },
        {
          name: "best layout",
          type: "line",
          symbolSize: 10,
          lineStyle: { color: kDrawing.accent, width: 2 },
          itemStyle: { color: kDrawing.accent },
          label: {
            show: true,
            position: "bottom",
            color: theme.soft,
            formatter: (item: Item) => label_of(item.data.point),
          },
          data: points.map((point) => ({ value: [point.gpus, tokens_per_second(point)], point })),
        },
        whiskers(
          points.map((point) => ({
            at: point.gpus,
            low: tokens_in(point, point.step_time_high_seconds),
            high: tokens_in(point, point.step_time_low_seconds),
          })),
          theme.soft,
        ),
      ],
    },
  };
}

function tooltip(point: ScalePoint, report: Report): string {
  return (
    `<b>${point.gpus} ${device_noun(report, point.gpus)}</b>: ${seconds_text(point.step_time_seconds ?? 0)} a step, ` +
    `${significant(point.tokens_per_second_per_gpu ?? 0)} tokens/s/${device_noun(report)}<br>${escape(visible(point.short_name ?? ""))}`
  );
}
