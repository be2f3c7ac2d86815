// SPDX-License-Identifier: Apache-2.0
// The terms of each report's best step, with its interval.

import type { Chart } from "./charts";
import { compared_of, quantity_of, stacked } from "./compared";
import { seconds_text } from "./format";
import type { Report } from "./report";
import type { Theme } from "./theme";

export function compared_steps_chart(report: Report, theme: Theme, width: number): Chart | null {
  const compared = compared_of(report);
  if (compared === null) return null;
  return stacked(compared, compared.terms_seconds, theme, width, { axis: "step time, s", unit: 1, text: seconds_text, ends: quantity_of(compared, "step_time_seconds") });
}
