// SPDX-License-Identifier: Apache-2.0
// Bytes that one GPU sends in a step, by group, coloured by the link they cross.

import type { Chart } from "./charts";
import { escape, spoken, traffic_text } from "./format";
import { paint_of } from "./paint";
import type { Report } from "./report";
import { base_option, category_axis, kLegend, value_axis, type Theme } from "./theme";

export function traffic_chart(report: Report, theme: Theme): Chart | null {
  const groups = report.volume?.groups ?? [];
  if (groups.length === 0) return null;
  const rows = groups.map((group) => `${spoken(group.group)}, ${group.group_size} ranks`);
  const tiers = [...new Set(groups.map((group) => group.tier))];
  return {
    height: 34 * groups.length + 92,
    option: {
      ...base_option(theme),
      legend: kLegend,
      grid: { left: 8, right: 80, top: 30, bottom: 44, containLabel: true },
      tooltip: {
        ...base_option(theme).tooltip,
        formatter: (item: { dataIndex: number }) => {
          const group = groups[item.dataIndex];
          return `${escape(rows[item.dataIndex])}<br>${escape(spoken(group.tier))}: ${traffic_text(group.sent_bytes)}`;
        },
      },
      xAxis: value_axis(theme, "sent by one GPU in one step, GB"),
      yAxis: { ...category_axis(theme, rows), inverse: true },
      series: tiers.map((tier) => ({
        name: spoken(tier),
        type: "bar",
        stack: "sent",
        barMaxWidth: 26,
        itemStyle: paint_of(tier),
        label: {
          show: true,
          position: "right",
          color: theme.text,
          formatter: (item: { value: number | null }) => (item.value === null ? "" : traffic_text(item.value * 1e9)),
        },
        data: groups.map((group) => (group.tier === tier ? group.sent_bytes / 1e9 : null)),
      })),
    },
  };
}
