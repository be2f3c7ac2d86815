// SPDX-License-Identifier: Apache-2.0
// How much slower each runner-up is than the winner, with the 90 % interval of the difference.

import type { Chart } from "./charts";
import { kDrawing } from "./drawing";
import { escape, seconds_text, visible } from "./format";
import type { AgainstRunnerUp, Report } from "./report";
import { base_option, category_axis, value_axis, type Theme } from "./theme";
import { whiskers } from "./whiskers";

const kNinetyPercent = 1.645; // standard deviations either side

interface Item {
  data: { against: AgainstRunnerUp };
}

function label_of(a: AgainstRunnerUp): string {
  return `#${a.rank}\n${(a.probability_winner_is_faster * 100).toFixed(0)} %`;
}

export function confidence_chart(report: Report, theme: Theme): Chart | null {
  const against = report.answers?.confidence?.against ?? [];
  if (against.length === 0) return null;
  const largest = Math.max(...against.map((a) => Math.abs(a.difference_seconds) + a.deviation_seconds));
  const unit = largest < 1 ? { name: "ms", scale: 1e3 } : { name: "s", scale: 1 };
  const difference = (a: AgainstRunnerUp) => a.difference_seconds * unit.scale;
  const reach = (a: AgainstRunnerUp) => kNinetyPercent * a.deviation_seconds * unit.scale;
  return {
    height: 320,
    option: {
      ...base_option(theme),
      grid: { left: 60, right: 24, top: 24, bottom: 62 },
      xAxis: { ...category_axis(theme, against.map(label_of), "runner-up, and how probably the winner is faster"), nameGap: 44, axisLabel: { color: theme.text, lineHeight: 15 }, axisLine: { onZero: false, lineStyle: { color: theme.line } } },
      yAxis: { ...value_axis(theme, `slower than the winner by, ${unit.name}`), nameGap: 44 },
      tooltip: { ...base_option(theme).tooltip, formatter: (item: Item) => tooltip(item.data.against) },
      series: [
        {
          type: "scatter",
          symbolSize: 12,
          itemStyle: { color: kDrawing.accent, borderColor: theme.page },
          data: against.map((a, index) => ({ value: [index, difference(a)], against: a })),
          markLine: {
            silent: true,
            symbol: "none",
            lineStyle: { color: kDrawing.limit, width: 1.5, type: "solid" },
            label: { show: false },
            data: [{ yAxis: 0 }],
          },
        },
        whiskers(
          against.map((a, index) => ({
            at: index,
            low: difference(a) - reach(a),
            high: difference(a) + reach(a),
          })),
          theme.soft,
        ),
      ],
    },
  };
}

function tooltip(a: AgainstRunnerUp): string {
  return (
    `<b>#${a.rank} ${escape(visible(a.brief_name))}</b><br>${seconds_text(a.difference_seconds)} slower, ` +
    `± ${seconds_text(a.deviation_seconds)} (one standard deviation)<br>` +
    `the winner is faster with ${(a.probability_winner_is_faster * 100).toFixed(1)} % probability`
  );
}
