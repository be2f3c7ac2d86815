// SPDX-License-Identifier: Apache-2.0
// The best step on other numbers of GPUs, with the same batch.
#include "planner/questions/scaling.h"

#include <fmt/format.h>

#include <array>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/section_registry.h"
#include "reports/tables/tables.h"
#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

using planner::ScalePoint;

const Record<ScalingPart>& scaling_record() {
  return described([](Record<ScalingPart>& r) {
    using R = ScalingPart;
    r.about("The best step on other numbers of GPUs, with the same batch.");
    r.row<&R::points>(scale_point_record);
    r.row<&R::best>(nullable(IntRange{.low = 0}),
                    "A place in the points, by the objective, within the limits.");
    r.rows<&R::sentence, &R::planned_gpus>();
    r.named("Scaling").all_required();
  });
}

void scaling_rows(Record<Report>& r) { r.row<&Report::scaling>(nullable(scaling_record)); }

double tokens_per_second(const ScalePoint& point) {
  return point.tokens_per_second_per_gpu * point.gpus;
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

void fill_scaling(Report& report, const ReportContents& contents) {
  const planner::Scaling& scaling = contents.scaling;
  if (scaling.points.empty()) return;
  ScalingPart& part = report.scaling.emplace();
  part.points = scaling.points;
  if (scaling.best) part.best = static_cast<int>(*scaling.best);
  part.sentence = scaling_sentence(contents.plan, scaling);
  part.planned_gpus = contents.plan.cluster.num_gpus();
}

// The decision table has days, cost and energy with failures, checkpoints and cooling. Those of the
// steps alone would be second numbers of the same quantities.
constexpr std::array<std::string_view, 3> kOfTheDecision{"train_days", "cost", "device_energy_kwh"};

std::string scaling_page(const Report& report) {
  if (!report.scaling) return "";
  const std::string noun(device_noun(report)), nouns(device_noun(report, 2));
  const std::vector<ScalePoint>& points = report.scaling->points;
  return html::section(
      "scaling", "More or fewer " + nouns,
      html::paragraph(report.scaling->sentence) +
          html::figure("scaling",
                       fmt::format("Tokens per second against {1}. The dashed line keeps the "
                                   "tokens/s per {0} of the fewest {1}.",
                                   noun, nouns)) +
          html::table(
              fmt::format(
                  "Best layout of each number of {}; efficiency: tokens/s/{} relative to the "
                  "first row's",
                  nouns, noun),
              without_columns(scaling_table(points, report.job, report.cluster.device_kind),
                              kOfTheDecision)) +
          (report.decision.tokens_are_the_jobs
               ? html::paragraph(
                     "The decision table has days, cost and energy, with failures and checkpoints.")
               : ""));
}

}  // namespace

extern const ReportSection kScalingSection;
constexpr ReportSection kScalingSection{.rows = scaling_rows,
                                        .fill = fill_scaling,
                                        .page = scaling_page,
                                        .id = "scaling",
                                        .word = "Scaling",
                                        .charts = "scaling"};

}  // namespace meshwright::reports
