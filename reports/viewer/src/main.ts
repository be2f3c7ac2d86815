// SPDX-License-Identifier: Apache-2.0
// Draws the charts of a report into its figures. A chart that fails leaves the page's own bars and
// tables in place.

import { draw, type Chart } from "./charts";
import { heat_map_chart } from "./heat_map";
import { memory_chart } from "./memory";
import { parity_chart } from "./parity";
import { pareto_chart } from "./pareto";
import { read_report, type Report } from "./report";
import { step_time_chart } from "./step_time";
import { theme_of_page, type Theme } from "./theme";
import { timeline_chart } from "./timeline";
import { traffic_chart } from "./traffic";

const kCharts: Record<string, (report: Report, theme: Theme, narrow: boolean) => Chart | null> = {
  heat_map: heat_map_chart,
  memory: memory_chart,
  pareto: pareto_chart,
  parity: parity_chart,
  step_time: step_time_chart,
  timeline: timeline_chart,
  traffic: traffic_chart,
};

function draw_all(): void {
  const report = read_report();
  const theme = theme_of_page();
  const narrow = innerWidth < 640;
  for (const figure of document.querySelectorAll<HTMLElement>("figure.chart")) {
    const canvas = figure.querySelector<HTMLElement>(".canvas");
    const chart = kCharts[figure.dataset.chart ?? ""]?.(report, theme, narrow);
    if (canvas !== null && chart) draw(canvas, chart);
  }
}

draw_all();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => location.reload());
