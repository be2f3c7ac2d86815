// SPDX-License-Identifier: Apache-2.0
// What the GPU that needs most of each report's best layout holds.

import type { Chart } from "./charts";
import { compared_of, stacked } from "./compared";
import { kGibibyte, memory_text } from "./format";
import { compared_device_noun } from "./nouns";
import type { Report } from "./report";
import type { Theme } from "./theme";

export function compared_memory_chart(report: Report, theme: Theme, width: number): Chart | null {
  const compared = compared_of(report);
  if (compared === null) return null;
  return stacked(compared, compared.fullest_stage_bytes, theme, width, { axis: `memory of the ${compared_device_noun(compared)} that needs most, GiB`, unit: kGibibyte, text: memory_text });
}
