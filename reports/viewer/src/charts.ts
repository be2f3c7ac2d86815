// SPDX-License-Identifier: Apache-2.0
// The parts of ECharts that the charts use; what is not named here is left out of the bundle.

import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TooltipComponent,
  VisualMapComponent,
} from "echarts/components";
import * as echarts from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

echarts.use([
  AriaComponent,
  BarChart,
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

export interface Chart {
  height: number; // pixels
  option: Record<string, unknown>;
}

// Draws `chart` in place of the figure's static content.
export function draw(canvas: HTMLElement, chart: Chart): void {
  canvas.replaceChildren();
  canvas.classList.add("drawn");
  canvas.style.height = `${chart.height}px`;
  const instance = echarts.init(canvas, null, { renderer: "svg" });
  instance.setOption(chart.option);
  new ResizeObserver(() => instance.resize()).observe(canvas);
}
