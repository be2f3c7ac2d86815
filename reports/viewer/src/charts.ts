// SPDX-License-Identifier: Apache-2.0
// The parts of ECharts that the charts use; what is not named here is left out of the bundle.

import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  BrushComponent,
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TooltipComponent,
  VisualMapComponent,
} from "echarts/components";
import * as echarts from "echarts/core";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";

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
  VisualMapComponent,
]);

export type Instance = echarts.ECharts;

export interface Chart {
  height: number; // pixels
  option: Record<string, unknown>;
  crowded?: boolean; // too many marks for one element each
}

const kDrawn = new Map<HTMLElement, { instance: Instance; observer: ResizeObserver }>();

// Paper is narrower than the screen: a drawing shrinks only when it says what its size was.
function allow_scaling(canvas: HTMLElement): void {
  const svg = canvas.querySelector("svg");
  svg?.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
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
  canvas.style.height = `${chart.height}px`;
  const instance = echarts.init(canvas, null, { renderer: chart.crowded ? "canvas" : "svg" });
  instance.setOption(chart.option);
  let width = canvas.clientWidth;
  const observer = new ResizeObserver(() => {
    if (canvas.clientWidth === width) return;
    width = canvas.clientWidth;
    const again = make(width);
    if (again !== null) {
      canvas.style.height = `${again.height}px`;
      instance.setOption({ grid: again.option.grid as object }); // the legend wraps elsewhere
    }
    instance.resize();
    allow_scaling(canvas);
  });
  observer.observe(canvas);
  allow_scaling(canvas);
  kDrawn.set(canvas, { instance, observer });
  return instance;
}
