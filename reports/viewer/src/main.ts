// SPDX-License-Identifier: Apache-2.0
// Draws the charts of a report into its figures and makes its tables answer. A chart that fails
// leaves the page's own bars and tables in place.

import { draw, type Chart, type Instance } from "./charts";
import { add_copy_buttons } from "./copy";
import { confidence_chart } from "./confidence";
import { flips_chart } from "./flips";
import { heat_map_chart } from "./heat_map";
import { links_chart } from "./links";
import { memory_chart } from "./memory";
import { noise_chart } from "./noise";
import { parity_chart } from "./parity";
import { add_brush, pareto_chart } from "./pareto";
import { Ranking } from "./ranking";
import { read_report, type Report } from "./report";
import { residuals_chart } from "./residuals";
import { scaling_chart } from "./scaling";
import { step_time_chart } from "./step_time";
import { make_sortable } from "./tables";
import { make_tabs } from "./tabs";
import { term_errors_chart } from "./term_errors";
import { add_theme_button, is_dark, theme_of_page, type Theme } from "./theme";
import { timeline_chart } from "./timeline";
import { tornado_chart } from "./tornado";
import { traffic_chart } from "./traffic";

const kCharts: Record<string, (report: Report, theme: Theme, width: number) => Chart | null> = {
  confidence: confidence_chart,
  flips: flips_chart,
  heat_map: heat_map_chart,
  links: links_chart,
  memory: memory_chart,
  noise: noise_chart,
  pareto: pareto_chart,
  parity: parity_chart,
  residuals: residuals_chart,
  scaling: scaling_chart,
  step_time: step_time_chart,
  term_errors: term_errors_chart,
  timeline: timeline_chart,
  tornado: tornado_chart,
  traffic: traffic_chart,
};

const report = read_report();
let ranking: Ranking | null = null;

// One chart that cannot be drawn does not take the others with it.
function drawn(name: string, attempt: () => Instance | null): Instance | null {
  try {
    return attempt();
  } catch (error) {
    console.error(`chart ${name}:`, error);
    return null;
  }
}

function draw_all(): void {
  const theme = theme_of_page();
  for (const figure of document.querySelectorAll<HTMLElement>("figure.chart")) {
    const canvas = figure.querySelector<HTMLElement>(".canvas");
    const name = figure.dataset.chart ?? "";
    const make = kCharts[name];
    if (canvas === null || make === undefined) continue;
    const instance = drawn(name, () => draw(canvas, (width) => make(report, theme, width)));
    if (instance === null) continue;
    if (name === "pareto") add_brush(figure, instance, (area) => ranking?.select(area));
  }
}

function wake_tables(): void {
  const section = document.getElementById("ranking");
  const ranked = section?.querySelector<HTMLTableElement>("table") ?? null;
  for (const table of document.querySelectorAll<HTMLTableElement>(".scroll > table")) {
    const fixed = table.closest(".bars, #ranking, #heat-map, [data-fixed]") !== null;
    if (!fixed && (table.tBodies[0]?.rows.length ?? 0) > 1) make_sortable(table);
  }
  if (section !== null && ranked !== null && Array.isArray(report.ranked)) ranking = new Ranking(report, section, ranked);
}

// A chart says at a glance what its numbers say in full.
function fold_numbers(): void {
  for (const numbers of document.querySelectorAll<HTMLDetailsElement>("details.numbers")) numbers.open = false;
}

wake_tables();
fold_numbers();
for (const group of document.querySelectorAll<HTMLElement>(".tabs")) make_tabs(group);
add_copy_buttons();
add_theme_button(draw_all);
draw_all();

let dark = is_dark();
const redraw = () => {
  if (is_dark() === dark) return;
  dark = is_dark();
  draw_all();
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
matchMedia("print").addEventListener("change", redraw);
