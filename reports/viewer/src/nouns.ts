// SPDX-License-Identifier: Apache-2.0
// What axes and tooltips call one device: a GPU or a core. Records without a kind are of GPUs.

import type { Compared } from "./compared";
import type { Report } from "./report";

function noun(cores: boolean, count: number): string {
  return (cores ? "core" : "GPU") + (count === 1 ? "" : "s");
}

export function device_noun(report: Report, count = 1): string {
  return noun(report.cluster.device_kind === "cpu", count);
}

// Of several reports: "core" if all of them are of cores.
export function compared_device_noun(compared: Compared, count = 1): string {
  return noun(
    compared.reports.every((report) => report.device_kind === "cpu"),
    count,
  );
}
