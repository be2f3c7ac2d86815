// SPDX-License-Identifier: Apache-2.0
// Stacked bars: the terms of each ranked layout's step.

import type { Chart } from "./charts";
import { kDrawing } from "./drawing";
import { escape, seconds_text, spoken, visible } from "./format";
import { paint_of } from "./paint";
import type { RankedLayout, Report } from "./report";
import { base_option, category_axis, is_narrow, kLegend, value_axis, type Theme } from "./theme";

const kOneLine = 58; // characters beside a bar

function used_terms(ranked: RankedLayout[]): string[] {
  const names = ranked[0].terms.map((term) => term.name);
  return names.filter((name) => ranked.some((layout) => layout.terms.some((t) => t.name === name && t.seconds > kDrawing.seen_share * layout.step_time_seconds)));
}

export function step_time_chart(report: Report, theme: Theme, width: number): Chart | null {
  const narrow = is_narrow(width);
  const ranked = report.ranked.slice(0, Math.min(report.top, kDrawing.most_bars));
  if (ranked.length === 0) return null;
  const terms = used_terms(ranked);
  const names = ranked.map((layout) => (narrow ? `#${layout.rank}` : `#${layout.rank} ${visible(layout.brief_name)}`));
  const wrapped = names.some((name) => name.length > kOneLine);
  const series = terms.map((name) => ({
    name: spoken(name),
    type: "bar",
    stack: "step",
    barMaxWidth: 26,
    itemStyle: paint_of(name),
    data: ranked.map((layout) => layout.terms.find((term) => term.name === name)?.seconds ?? 0),
  }));
  return {
    height: (wrapped ? 36 : 26) * ranked.length + 70,
    option: {
      ...base_option(theme),
      legend: kLegend,
      grid: { left: 8, right: 24, top: 12, bottom: 44, containLabel: true },
      tooltip: {
        ...base_option(theme).tooltip,
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (items: { dataIndex: number }[]) => tooltip(ranked[items[0].dataIndex]),
      },
      xAxis: value_axis(theme, "step time, s"),
      yAxis: {
        ...category_axis(theme, names),
        inverse: true,
        axisLabel: { color: theme.text, width: 420, lineHeight: 14, overflow: "break" },
      },
      series,
    },
  };
}

function tooltip(layout: RankedLayout): string {
  const lines = layout.terms
    .filter((term) => term.seconds > 0)
    .map((term) => `${escape(spoken(term.name))}: ${seconds_text(term.seconds)} (${escape(term.provenance)})`);
  return `<b>${escape(visible(layout.short_name))}</b>: ${seconds_text(layout.step_time_seconds)}<br>${lines.join("<br>")}`;
}
