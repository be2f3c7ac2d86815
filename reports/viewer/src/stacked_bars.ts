// SPDX-License-Identifier: Apache-2.0
// Lying bars of stacked parts: names beside them, the legend below, a tooltip for a whole bar.

import { spoken } from "./format";
import { paint_of } from "./paint";
import { base_option, category_axis, kLegend, value_axis, type Theme } from "./theme";

export interface Bars {
  names: string[];
  name_label: { width: number; lineHeight?: number }; // of the names, which break
  axis: string;
  tooltip: (index: number) => string;
}

export function stacked_bars(theme: Theme, bars: Bars) {
  const option = base_option(theme);
  return {
    ...option,
    legend: kLegend,
    grid: { left: 8, right: 24, top: 12, bottom: 44, containLabel: true },
    tooltip: {
      ...option.tooltip,
      trigger: "axis",
      axisPointer: { type: "shadow" },
      formatter: (items: { dataIndex: number }[]) => bars.tooltip(items[0].dataIndex),
    },
    xAxis: value_axis(theme, bars.axis),
    yAxis: { ...category_axis(theme, bars.names), inverse: true, axisLabel: { color: theme.text, ...bars.name_label, overflow: "break" } },
  };
}

// One part of every bar.
export function bar_part(name: string, stack: string, data: number[]) {
  return { name: spoken(name), type: "bar", stack, barMaxWidth: 26, itemStyle: paint_of(name), data };
}
