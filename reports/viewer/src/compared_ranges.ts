// SPDX-License-Identifier: Apache-2.0
// Time to train, cost and tokens a second of each report, one panel each, with their ranges.

import type { Chart } from "./charts";
import { compared_of, type Quantity } from "./compared";
import { kDrawing } from "./drawing";
import { escape, significant, visible } from "./format";
import type { Report } from "./report";
import { base_option, category_axis, is_narrow, value_axis, type Theme } from "./theme";

const kShown = ["days", "effective_tokens_per_second", "cost", "step_time_seconds"];

interface Api {
  value(index: number): number;
  coord(point: number[]): number[];
}

function panel(quantity: Quantity, place: number, theme: Theme): object[] {
  const of = (list: (number | null)[]) => list.map((value) => (value === null ? null : value / quantity.unit_size));
  const [values, low, high] = [of(quantity.values), of(quantity.low), of(quantity.high)];
  const at = { xAxisIndex: place, yAxisIndex: place };
  const points = values.flatMap((value, index) => (value === null ? [] : [{ value: [value, index], low: low[index], high: high[index] }]));
  return [
    { type: "scatter", ...at, symbolSize: 11, itemStyle: { color: kDrawing.accent, borderColor: theme.page }, data: points },
    {
      type: "custom",
      ...at,
      silent: true,
      tooltip: { show: false },
      encode: { x: [0, 1], y: 2 },
      z: 1,
      data: points.flatMap((point) => (point.low === null || point.high === null ? [] : [[point.low, point.high, point.value[1]]])),
      renderItem: (_params: object, api: Api) => {
        const [x1, y] = api.coord([api.value(0), api.value(2)]);
        const x2 = api.coord([api.value(1), api.value(2)])[0];
        return { type: "line", shape: { x1, y1: y, x2, y2: y }, style: { stroke: theme.soft, lineWidth: 2 } };
      },
    },
  ];
}

export function compared_ranges_chart(report: Report, theme: Theme, width: number): Chart | null {
  const compared = compared_of(report);
  const shown = kShown.flatMap((name) => compared?.quantities.filter((quantity) => quantity.name === name) ?? []);
  if (compared === null || shown.length === 0) return null;
  const columns = is_narrow(width) ? 1 : Math.min(2, shown.length);
  const row_height = 30 * compared.reports.length + 64;
  const names = compared.reports.map(({ name }) => visible(name));
  const share = 100 / columns;
  return {
    height: row_height * Math.ceil(shown.length / columns) + 12,
    option: {
      ...base_option(theme),
      grid: shown.map((_quantity, index) => ({
        left: `${(index % columns) * share + 1}%`,
        width: `${share - 4}%`,
        top: 10 + row_height * Math.floor(index / columns),
        height: row_height - 60,
        containLabel: true,
      })),
      xAxis: shown.map((quantity, index) => ({ ...value_axis(theme, quantity.unit === "" ? quantity.label : `${quantity.label}, ${quantity.unit}`), gridIndex: index, scale: true })),
      yAxis: shown.map((_quantity, index) => ({ ...category_axis(theme, names), gridIndex: index, inverse: true, axisLabel: { color: theme.text, width: 120, overflow: "truncate" } })),
      tooltip: {
        ...base_option(theme).tooltip,
        formatter: (item: { data: { value: number[]; low: number | null; high: number | null }; seriesIndex: number }) => {
          const { value, low, high } = item.data;
          const ends = low === null || high === null ? "" : ` (${significant(low)} to ${significant(high)})`;
          return `<b>${escape(names[value[1]])}</b>: ${significant(value[0])}${ends} ${escape(shown[item.seriesIndex >> 1].unit)}`;
        },
      },
      series: shown.flatMap((quantity, index) => panel(quantity, index, theme)),
    },
  };
}
