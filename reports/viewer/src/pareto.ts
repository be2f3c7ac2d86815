// SPDX-License-Identifier: Apache-2.0
// Step time against peak memory of the ranked layouts, with the interval as whiskers.

import type { Chart } from "./charts";
import { escape, kGibibyte, memory_text, seconds_text, visible } from "./format";
import type { RankedLayout, Report } from "./report";
import { base_option, legend, value_axis, type Theme } from "./theme";
import { whiskers } from "./whiskers";

export function pareto_chart(report: Report, theme: Theme): Chart | null {
  const ranked = report.ranked;
  if (ranked.length < 2) return null;
  const point = (layout: RankedLayout) => ({
    value: [layout.peak_memory_bytes / kGibibyte, layout.step_time_seconds],
    layout,
  });
  const points = (name: string, pareto: boolean, symbol: string, color: string) => ({
    name,
    type: "scatter",
    symbol,
    symbolSize: 13,
    itemStyle: { color, borderColor: theme.page },
    label: { show: true, position: "right", color: theme.soft, formatter: (item: Item) => (item.data.layout.rank <= report.top ? `#${item.data.layout.rank}` : "") },
    labelLayout: { hideOverlap: true },
    data: ranked.filter((layout) => layout.pareto === pareto).map(point),
  });
  const times = ranked.map((layout) => layout.step_time_seconds);
  // The smallest layouts may be many times slower; a straight axis would press the others together.
  const wide = Math.max(...times) > 3 * Math.min(...times);
  const step_axis = { ...value_axis(theme, wide ? "step time, s (logarithmic)" : "step time, s"), scale: true, nameGap: 44 };
  return {
    height: 340,
    option: {
      ...base_option(theme),
      legend: legend(theme),
      grid: { left: 56, right: 40, top: 36, bottom: 48 },
      xAxis: { ...value_axis(theme, "peak memory, GiB"), scale: true },
      yAxis: wide ? { ...step_axis, type: "log" as const } : step_axis,
      tooltip: { ...base_option(theme).tooltip, formatter: (item: Item) => tooltip(item.data.layout) },
      series: [
        points("nothing is faster and smaller", true, "diamond", "#1f6fb4"),
        points("others", false, "circle", "#9aa3ad"),
        whiskers(
          ranked.map((layout) => ({
            at: layout.peak_memory_bytes / kGibibyte,
            low: layout.step_time_low_seconds,
            high: layout.step_time_high_seconds,
          })),
          theme.soft,
        ),
      ],
    },
  };
}

interface Item {
  data: { layout: RankedLayout };
}

function tooltip(layout: RankedLayout): string {
  const interval = `${seconds_text(layout.step_time_low_seconds)} to ${seconds_text(layout.step_time_high_seconds)}`;
  return (
    `<b>#${layout.rank} ${escape(visible(layout.short_name))}</b><br>` +
    `${seconds_text(layout.step_time_seconds)} (${interval})<br>${memory_text(layout.peak_memory_bytes)}`
  );
}
