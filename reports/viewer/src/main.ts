// SPDX-License-Identifier: Apache-2.0
// Draws the charts of a report into its figures and makes its tables answer. A chart that fails
// leaves the page's own bars and tables in place.

import { draw, type Instance } from "./charts";
import { add_copy_buttons } from "./copy";
import { add_legend, add_tools, add_zoom } from "./legend";
import { add_live } from "./live";
import { add_sheet_footer } from "./sheet";
import { kCharts } from "./chart_list";
import { add_baseline } from "./compared_baseline";
import { add_brush } from "./pareto";
import { Ranking } from "./ranking";
import { read_report } from "./report";
import { add_csv_button, make_sortable } from "./tables";
import { make_tabs } from "./tabs";
import { add_theme_button, is_dark, theme_of_page } from "./theme";
import { place_in_url, watch_places } from "./url";
import { add_what_if } from "./what_if";

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

function draw_figure(figure: HTMLElement): void {
  const theme = theme_of_page();
  const canvas = figure.querySelector<HTMLElement>(".canvas");
  const name = figure.dataset.chart ?? "";
  const make = kCharts[name];
  if (canvas === null || make === undefined) return;
  const instance = drawn(name, () => draw(canvas, (width) => make(report, theme, width)));
  if (instance === null) return;
  add_legend(figure, instance);
  add_zoom(figure, instance);
  add_tools(figure, canvas, instance, theme.page);
  if (name === "pareto") add_brush(figure, instance, (area) => ranking?.select(area));
}

// Charts are drawn when they come near the screen, and again when the theme has changed since.
const near = new Set<HTMLElement>();
const drawn_in = new WeakMap<HTMLElement, number>();
let theme_number = 0;

function draw_if_old(figure: HTMLElement): void {
  if (drawn_in.get(figure) === theme_number) return;
  drawn_in.set(figure, theme_number);
  draw_figure(figure);
}

const figures = [...document.querySelectorAll<HTMLElement>("figure.chart")];

function watch_figures(): void {
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const figure = target as HTMLElement;
        if (isIntersecting) near.add(figure);
        else near.delete(figure);
        if (isIntersecting) draw_if_old(figure);
      }
    },
    { rootMargin: "400px" },
  );
  for (const figure of figures) observer.observe(figure);
}

// Charts above a place that is asked for are drawn first: none changes its height afterwards.
function draw_above(place: string): void {
  const target = place === "" ? null : document.getElementById(place);
  if (target === null) return;
  for (const figure of figures) {
    const before = figure.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_FOLLOWING;
    if (before !== 0) draw_if_old(figure);
  }
}

function redraw(): void {
  theme_number += 1;
  for (const figure of near) draw_if_old(figure);
}

// Paper is light, and has everything.
function print_all(): void {
  theme_number += 1;
  for (const figure of figures) draw_if_old(figure);
  for (const details of document.querySelectorAll("details")) details.open = true;
}

function wake_tables(): void {
  const section = document.getElementById("ranking");
  const ranked = section?.querySelector<HTMLTableElement>("table") ?? null;
  for (const table of document.querySelectorAll<HTMLTableElement>(".scroll > table")) {
    const is_bars = table.closest(".bars") !== null;
    const fixed = is_bars || table.closest("#ranking, #heat-map, [data-fixed]") !== null;
    if (!fixed && (table.tBodies[0]?.rows.length ?? 0) > 1) make_sortable(table);
    if (!is_bars && table !== ranked && table.closest(".panel") === null) add_csv_button(table);
  }
  if (section !== null && ranked !== null && Array.isArray(report.ranked)) ranking = new Ranking(report, section, ranked);
}

// A chart says at a glance what its numbers say in full.
function fold_numbers(): void {
  for (const numbers of document.querySelectorAll<HTMLDetailsElement>("details.numbers")) numbers.open = false;
}

// Each section can be linked to.
function add_anchors(): void {
  for (const heading of document.querySelectorAll<HTMLElement>("section[id] > h2")) {
    const link = document.createElement("a");
    link.className = "anchor";
    link.href = `#${heading.parentElement?.id}`;
    link.textContent = "#";
    link.setAttribute("aria-label", `Link to ${heading.textContent}`);
    heading.append(" ", link);
  }
}

wake_tables();
fold_numbers();
for (const group of document.querySelectorAll<HTMLElement>(".tabs")) make_tabs(group);
add_copy_buttons();
add_anchors();
add_theme_button(redraw);
add_what_if(report);
add_live(report.capacity);
add_baseline(report);
add_sheet_footer();
watch_figures();
draw_above(place_in_url());
watch_places();
addEventListener("hashchange", () => draw_above(place_in_url()));

let dark = is_dark();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  if (is_dark() === dark) return;
  dark = is_dark();
  redraw();
});
addEventListener("beforeprint", print_all);
addEventListener("afterprint", () => {
  fold_numbers();
  redraw();
});
