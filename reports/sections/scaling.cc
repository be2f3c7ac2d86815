// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/scaling.h"

#include <fmt/format.h>

#include "reports/answers_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/hardware/device_noun.h"
#include "sim/record/without_key.h"

namespace meshwright::reports {
namespace {

using planner::ScalePoint;

double tokens_per_second(const ScalePoint& point) {
  return point.gpus * point.tokens_per_second_per_gpu;
}

std::string scaling_sentence(const planner::Plan& plan, const planner::Scaling& scaling) {
  std::string text = fmt::format(
      "The same batch of {} sequences on more or fewer {}, each with its own best layout.",
      count_text(plan.job.global_batch_size), device_noun(plan.cluster, 2));
  const ScalePoint* fewest = nullptr;
  const ScalePoint* most = nullptr;
  for (const ScalePoint& point : scaling.points) {
    if (!point.layout) continue;
    if (fewest == nullptr || point.gpus < fewest->gpus) fewest = &point;
    if (most == nullptr || point.gpus > most->gpus) most = &point;
  }
  if (fewest == most) return text;
  const double more = static_cast<double>(most->gpus) / fewest->gpus;
  return text + fmt::format(" {} {}, {} times as many as {}, give {} times the tokens per second.",
                            count_text(most->gpus), device_noun(plan.cluster, most->gpus),
                            significant(more, 3), count_text(fewest->gpus),
                            significant(tokens_per_second(*most) / tokens_per_second(*fewest), 3));
}

}  // namespace

Json scaling_section(const planner::Plan& plan, const planner::Scaling& scaling) {
  if (scaling.points.empty()) return {};
  Json json = without_key(to_json(scaling), "choices");  // of the plan's file; nothing draws them
  json["sentence"] = scaling_sentence(plan, scaling);
  json["planned_gpus"] = plan.cluster.num_gpus();
  return json;
}

}  // namespace meshwright::reports
