// SPDX-License-Identifier: Apache-2.0
// The first screen and the first sheet of paper: one recommendation, why not fewer or more, days
// against cost, what moves both, risks, rows, and the block that is signed. A plan's report and a
// capacity answer's page have the same.
#pragma once

#include <string>

#include "reports/records/capacity.h"

namespace meshwright::reports {

struct DecisionView {
  const Capacity& capacity;
  DeviceKind kind = DeviceKind::gpu;
  std::string subject{};  // model, tokens, cluster
  std::string verdict{};  // in the largest letters
  std::string note{};     // how the row in front runs; empty: none
  std::string hash{};     // of the record, 8 digits or more
};

// <header>, and behind it the note.
std::string decision_header(const DecisionView& view);
// Clusters beside each other, each with its best row; empty: there is one.
std::string clusters_table(const Capacity& capacity, DeviceKind kind);
// The section "Days, cost and energy"; empty: no layout fits.
std::string capacity_body(const Capacity& capacity, DeviceKind kind);
// Days of the run; empty: no training length.
std::string calendar_table(const Capacity& capacity);

}  // namespace meshwright::reports
