// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/subjects.h"

#include <fmt/format.h>

#include <set>

namespace meshwright::calibrate {

std::string subject_of(const MeasuredPoint& p) {
  switch (p.kind) {
    case PointKind::gemm:
      return fmt::format("products in {}", name_of(p.precision));
    case PointKind::kernel:
      return fmt::format("kernel {}", p.kernel);
    case PointKind::collective:
      return fmt::format("{} {}", name_of(p.collective),
                         p.tier == Tier::inter_node ? "between nodes" : "inside a node");
    case PointKind::overlap:
      return "products beside messages";
    case PointKind::sustained_gemm:
      return "sustained products";
    case PointKind::attention:
      return "fused attention";
    case PointKind::host_link:
      return fmt::format("host_link {}", name_of(p.direction));
    case PointKind::memory_copy:
    case PointKind::kernel_launch:
      break;
  }
  return std::string(name_of(p.kind));
}

std::vector<std::string> still_missing(const std::vector<std::string>& subjects,
                                       const std::vector<MeasuredPoint>& points) {
  std::set<std::string> seen;
  for (const MeasuredPoint& p : points) seen.insert(subject_of(p));
  std::vector<std::string> missing;
  for (const std::string& subject : subjects) {
    if (seen.insert(subject).second) missing.push_back(subject);
  }
  return missing;
}

std::vector<std::string> not_measured(const std::vector<MeasuredPoint>& planned,
                                      const std::vector<MeasuredPoint>& measured) {
  std::vector<std::string> subjects;
  for (const MeasuredPoint& p : planned) subjects.push_back(subject_of(p));
  return still_missing(subjects, measured);
}

}  // namespace meshwright::calibrate
