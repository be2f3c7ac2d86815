// SPDX-License-Identifier: Apache-2.0
// How far each input must move, as a factor of today's value, until another layout is the best.

import type { Chart } from "./charts";
import { kDrawing } from "./drawing";
import { escape, visible } from "./format";
import type { Crossover, Report } from "./report";
import { base_option, category_axis, is_narrow, value_axis, type Theme } from "./theme";

const kRange = [0.25, 4]; // that was looked at, as planner/questions/crossover.h has it

interface Item {
  data: { crossover: Crossover };
}

interface Api {
  value(index: number): number;
  coord(point: number[]): number[];
}

function factor_text(factor: number): string {
  return `\u00d7 ${Number(factor.toPrecision(2))}`;
}

export function crossovers_chart(report: Report, theme: Theme, width: number): Chart | null {
  const narrow = is_narrow(width);
  const crossovers = report.answers?.crossovers ?? [];
  if (crossovers.length === 0) return null;
  const inputs = [...new Set(crossovers.map((crossover) => visible(crossover.label)))];
  const row = (crossover: Crossover) => inputs.indexOf(visible(crossover.label));
  return {
    height: 34 * inputs.length + 104,
    option: {
      ...base_option(theme),
      grid: { left: 8, right: 40, top: 44, bottom: 44, containLabel: true },
      xAxis: {
        ...value_axis(theme, narrow ? "times today's value" : "input, times today's value (logarithmic)"),
        type: "log" as const,
        logBase: 2,
        min: Math.min(kRange[0], ...crossovers.map((crossover) => crossover.factor)),
        max: Math.max(kRange[1], ...crossovers.map((crossover) => crossover.factor)),
        axisLabel: { color: theme.soft, formatter: factor_text },
      },
      yAxis: { ...category_axis(theme, inputs), inverse: true, axisLabel: { color: theme.text, width: narrow ? 120 : 330, overflow: "break" } },
      tooltip: {
        ...base_option(theme).tooltip,
        formatter: (item: Item) => escape(visible(item.data.crossover.sentence)),
      },
      series: [
        {
          type: "custom",
          silent: true,
          tooltip: { show: false },
          data: crossovers.map((crossover) => [crossover.factor, row(crossover)]),
          renderItem: (_params: object, api: Api) => {
            const [x1, y1] = api.coord([1, api.value(1)]);
            const x2 = api.coord([api.value(0), api.value(1)])[0];
            return { type: "line", shape: { x1, y1, x2, y2: y1 }, style: { stroke: theme.soft, lineWidth: 2 } };
          },
        },
        {
          type: "scatter",
          symbol: "diamond",
          symbolSize: 15,
          itemStyle: { color: kDrawing.contrast, borderColor: theme.page },
          label: {
            show: true,
            position: "top",
            distance: 3,
            color: theme.soft,
            formatter: (item: Item) => factor_text(item.data.crossover.factor),
          },
          labelLayout: { hideOverlap: true },
          data: crossovers.map((crossover) => ({ value: [crossover.factor, row(crossover)], crossover })),
          markLine: {
            silent: true,
            symbol: "none",
            lineStyle: { color: kDrawing.accent, width: 2, type: "solid" },
            label: { formatter: "today", color: theme.text, position: "start", distance: 16 },
            data: [{ xAxis: 1 }],
          },
        },
      ],
    },
  };
}
