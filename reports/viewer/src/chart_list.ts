// SPDX-License-Identifier: Apache-2.0
// Made by record_types.mjs from the sources that export a chart.

import { compared_memory_chart } from "./compared_memory";
import { compared_ranges_chart } from "./compared_ranges";
import { compared_steps_chart } from "./compared_steps";
import { confidence_chart } from "./confidence";
import { crossovers_chart } from "./crossovers";
import { heat_map_chart } from "./heat_map";
import { links_chart } from "./links";
import { memory_chart } from "./memory";
import { noise_chart } from "./noise";
import { pareto_chart } from "./pareto";
import { parity_chart } from "./parity";
import { residuals_chart } from "./residuals";
import { scaling_chart } from "./scaling";
import { step_time_chart } from "./step_time";
import { term_errors_chart } from "./term_errors";
import { timeline_chart } from "./timeline";
import { tornado_chart } from "./tornado";
import { traffic_chart } from "./traffic";
import type { MakeChart } from "./charts";

export const kCharts: Record<string, MakeChart> = {
  compared_memory: compared_memory_chart,
  compared_ranges: compared_ranges_chart,
  compared_steps: compared_steps_chart,
  confidence: confidence_chart,
  crossovers: crossovers_chart,
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
