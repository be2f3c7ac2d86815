// SPDX-License-Identifier: Apache-2.0
// Bytes that one GPU sends in a step, by group, coloured by the link they cross.

import type { Chart } from "./charts";
import { escape, spoken, traffic_text } from "./format";
import { paint_of } from "./paint";
import type { Report } from "./report";
import { device_noun } from "./nouns";
import { base_option, category_axis, kLegend, value_axis, type Theme } from "./theme";

export function traffic_chart(report: Report, theme: Theme): Chart | null {
  const parts = report.volume?.groups ?? []; // of each group, by tier
  if (parts.length === 0) return null;
  const groups = [...new Set(parts.map((part) => part.group))];
  const rows = groups.map((group) => `${spoken(group)}, ${parts.find((part) => part.group === group)?.group_size} ranks`);
  const tiers = [...new Set(parts.map((part) => part.tier))];
  const parts_of = (group: string) => parts.filter((part) => part.group === group);
  const sent = (group: string) => parts_of(group).reduce((sum, part) => sum + part.sent_bytes, 0);
  return {
    height: 34 * groups.length + 92,
    option: {
      ...base_option(theme),
      legend: kLegend,
      grid: { left: 8, right: 80, top: 30, bottom: 44, containLabel: true },
      tooltip: {
        ...base_option(theme).tooltip,
        formatter: (item: { dataIndex: number }) => {
          const lines = parts_of(groups[item.dataIndex]).map((part) => `${escape(spoken(part.tier))}: ${traffic_text(part.sent_bytes)}`);
          return `${escape(rows[item.dataIndex])}<br>${lines.join("<br>")}`;
        },
      },
      xAxis: value_axis(theme, `sent by one ${device_noun(report)} in one step, GB`),
      yAxis: { ...category_axis(theme, rows), inverse: true },
      series: tiers.map((tier) => ({
        name: spoken(tier),
        type: "bar",
        stack: "sent",
        barMaxWidth: 26,
        itemStyle: paint_of(tier),
        // The sum, behind the last part.
        label: {
          show: true,
          position: "right",
          color: theme.text,
          formatter: (item: { dataIndex: number }) => {
            const group = groups[item.dataIndex];
            const last = parts_of(group).slice(-1)[0];
            return last.tier === tier ? traffic_text(sent(group)) : "";
          },
        },
        data: groups.map((group) => {
          const part = parts_of(group).find((one) => one.tier === tier);
          return part === undefined ? null : part.sent_bytes / 1e9;
        }),
      })),
    },
  };
}
