// SPDX-License-Identifier: Apache-2.0
// The parts of ECharts that the charts use; what is not named here is left out of the bundle.

import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import { AriaComponent, BrushComponent, DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import * as echarts from "echarts/core";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";
import type { Report } from "./report";
import type { Theme } from "./theme";

echarts.use([
  AriaComponent,
  BarChart,
  BrushComponent,
  CanvasRenderer,
  CustomChart,
  DataZoomComponent,
  GridComponent,
  HeatmapChart,
  LegendComponent,
  LineChart,
  MarkLineComponent,
  ScatterChart,
  SVGRenderer,
  TooltipComponent,
]);

export type Instance = echarts.ECharts;

export interface Chart {
  height: number; // pixels
  width?: number; // at most; default: what there is
  option: Record<string, unknown>;
  crowded?: boolean; // too many marks for one element each
}

// Null where the record has nothing to draw.
export type MakeChart = (report: Report, theme: Theme, width: number) => Chart | null;

interface Drawn {
  instance: Instance;
  observer: ResizeObserver;
}
const kDrawn = new Map<HTMLElement, Drawn>();

// Paper is narrower than the screen: a drawing shrinks only when it says what its size was.
function allow_scaling(canvas: HTMLElement): void {
  const svg = canvas.querySelector("svg");
  svg?.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
}

function fit(canvas: HTMLElement, chart: Chart): void {
  canvas.style.height = `${chart.height}px`;
  canvas.style.maxWidth = chart.width === undefined ? "" : `${chart.width}px`;
}

// One sentence; the numbers are in the table that the figure links to.
function describe(canvas: HTMLElement): object {
  const caption = canvas.closest("figure")?.querySelector("figcaption .says")?.textContent ?? "chart";
  canvas.setAttribute("role", "img");
  return { enabled: true, label: { enabled: true, description: caption } };
}

// Draws the chart that `make` makes for the width there is, in place of the figure's static content
// or of what was drawn there before. Null where there is nothing to draw.
export function draw(canvas: HTMLElement, make: (width: number) => Chart | null): Instance | null {
  const chart = make(canvas.clientWidth || canvas.parentElement?.clientWidth || 0);
  if (chart === null) return null;
  const old = kDrawn.get(canvas);
  old?.observer.disconnect();
  old?.instance.dispose();
  canvas.replaceChildren();
  canvas.classList.add("drawn");
  fit(canvas, chart);
  const instance = echarts.init(canvas, null, { renderer: chart.crowded ? "canvas" : "svg" });
  instance.setOption({ ...chart.option, aria: describe(canvas) });
  // The room that the canvas has: a chart of a largest width does not fill it.
  const room = canvas.parentElement ?? canvas;
  let width = room.clientWidth;
  const observer = new ResizeObserver(() => {
    if (room.clientWidth === 0 || room.clientWidth === width) return; // hidden, or as before
    width = room.clientWidth;
    const again = make(width);
    if (again !== null) {
      fit(canvas, again);
      instance.setOption({ grid: again.option.grid as object });
    }
    instance.resize();
    allow_scaling(canvas);
  });
  observer.observe(room);
  allow_scaling(canvas);
  kDrawn.set(canvas, { instance, observer });
  return instance;
}

// WCAG 1.4.13: what appeared under the mouse goes away without moving it.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const { instance } of kDrawn.values()) instance.dispatchAction({ type: "hideTip" });
});
