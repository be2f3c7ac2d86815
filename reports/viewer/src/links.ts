// SPDX-License-Identifier: Apache-2.0
// How long sending keeps each link busy, by group, as a share of the step.

import type { Chart } from "./charts";
import { escape, spoken, visible } from "./format";
import { paint_of } from "./paint";
import type { LinkLoad, Report } from "./report";
import { base_option, category_axis, is_narrow, kLegend, value_axis, type Theme } from "./theme";

function name_of(link: LinkLoad): string {
  return `${visible(link.link)}, ${link.tier === "intra_node" ? "inside a node" : "between nodes"}`;
}

export function links_chart(report: Report, theme: Theme, width: number): Chart | null {
  const narrow = is_narrow(width);
  const placement = report.placement;
  if (placement === null || placement.links.length === 0) return null;
  const { links, axes } = placement;
  const groups = [...new Set(axes.map((axis) => axis.group))];
  const share = (link: LinkLoad, group: string) =>
    100 * (axes.find((axis) => axis.group === group && axis.tier === link.tier)?.share_of_step ?? 0);
  return {
    height: 44 * links.length + 62,
    option: {
      ...base_option(theme),
      legend: kLegend,
      grid: { left: 8, right: 24, top: 10, bottom: 44, containLabel: true },
      xAxis: value_axis(theme, "busy, % of the step"),
      yAxis: {
        ...category_axis(theme, links.map(name_of)),
        inverse: true,
        axisLabel: { color: theme.text, width: narrow ? 120 : 330, overflow: "break" },
      },
      tooltip: {
        ...base_option(theme).tooltip,
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (items: { dataIndex: number }[]) => {
          const link = links[items[0].dataIndex];
          const lines = link.groups.map((group) => `${escape(spoken(group))}: ${share(link, group).toFixed(1)} %`);
          return `<b>${escape(name_of(link))}</b><br>${lines.join("<br>")}`;
        },
      },
      series: groups.map((group) => ({
        name: spoken(group),
        type: "bar",
        stack: "busy",
        barMaxWidth: 26,
        itemStyle: paint_of(group),
        data: links.map((link) => share(link, group)),
      })),
    },
  };
}
