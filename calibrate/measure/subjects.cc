// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/subjects.h"

#include <fmt/format.h>

#include <set>

#include "calibrate/measure/deepep.h"
#include "sim/base/overloaded.h"

namespace meshwright::calibrate {

std::string subject_of(const MeasuredPoint& p) {
  return std::visit(
      Overloaded{
          [](const timed::Gemm& s) {
            return fmt::format("products in {}", name_of(s.product.precision));
          },
          [](const timed::SustainedGemm&) { return std::string("sustained products"); },
          [](const timed::GroupedGemm&) { return std::string("grouped products of experts"); },
          [](const timed::Kernel& s) { return fmt::format("kernel {}", s.name); },
          [](const timed::MemoryCopy& s) { return std::string(s.kName); },
          [](const timed::HostLink& s) {
            return fmt::format("host_link {}", name_of(s.direction));
          },
          [](const timed::KernelLaunch& s) { return std::string(s.kName); },
          [](const timed::CollectiveCall& s) {
            if (is_deepep(s.call)) return std::string(kDeepEp);
            const bool across = s.call.tier == Tier::inter_node;
            return fmt::format("{} {}", name_of(s.call.collective),
                               across ? "between nodes" : "inside a node");
          },
          [](const timed::HostLaunch& s) { return std::string(s.kName); },
          [](const timed::Overlap&) { return std::string("GEMMs overlapped with messages"); },
          [](const timed::CopyOverlap&) { return std::string("GEMMs overlapped with copies"); },
          [](const timed::Attention&) { return std::string("fused attention"); },
          [](const timed::StepPass&) { return std::string("a whole step"); },
          [](const timed::PagedAttention&) { return std::string("attention over a paged cache"); },
          [](const timed::EngineStep&) { return std::string("an inference engine's step"); },
          [](const timed::ServedStep&) { return std::string("whole steps of a service"); },
          [](const timed::CacheCopy&) { return std::string("caches that change replicas"); }},
      p.subject);
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
