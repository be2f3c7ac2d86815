// SPDX-License-Identifier: Apache-2.0
#include "app/runs/log_check.h"

#include <fmt/format.h>

#include <optional>

#include "reports/text/text.h"
#include "sim/block/parameters.h"
#include "sim/hardware/named_device.h"

namespace meshwright::app {
namespace {

// Frameworks count embeddings and padding in their own ways.
constexpr double kParameterTolerance = 0.1;

// First and last stages hold embeddings: of a few ranks alone less follows.
constexpr double kStageTolerance = 1.0;

struct PrintedParameters {
  double count = 0, tolerance = kParameterTolerance;
};

// Megatron-LM prints those of each tensor and pipeline rank; of experts a share.
std::optional<PrintedParameters> printed_parameters(const interop::TrainingLog& log,
                                                    const Layout& layout) {
  if (log.parameters) return PrintedParameters{*log.parameters};
  const auto& ranks = log.parameters_on_rank;
  if (ranks.empty() || layout.expert_parallel_size > 1) return std::nullopt;
  double sum = 0;
  for (const auto& [rank, count] : ranks) sum += static_cast<double>(count);
  const double all = layout.tensor_parallel_size * layout.pipeline_parallel_size;
  const auto seen = static_cast<double>(ranks.size());
  const bool known = seen == all || layout.pipeline_parallel_size == 1;
  return PrintedParameters{sum / seen * all, known ? kParameterTolerance : kStageTolerance};
}

std::string other_parameters(const interop::TrainingLog& log, const Scenario& s,
                             const Layout& layout) {
  const auto printed = printed_parameters(log, layout);
  if (!printed) return "";
  const auto mine = static_cast<double>(total_parameters(s.model));
  const double ratio = printed->count / mine;
  if (ratio <= 1.0 + printed->tolerance && 1.0 <= ratio * (1.0 + printed->tolerance)) return "";
  return fmt::format("its model has {} parameters, but {} has {}", reports::si_text(printed->count),
                     s.model.name, reports::si_text(mine));
}

}  // namespace

std::string why_log_is_anothers(const interop::TrainingLog& log, const Scenario& scenario,
                                const Layout& layout) {
  const Device& device = only_device(scenario.cluster);
  if (log.device && !may_be_device(*log.device, device)) {
    return fmt::format("it was printed on {}, but the cluster has {}", *log.device, device.name);
  }
  if (log.seq_length && *log.seq_length != scenario.job.seq_length) {
    return fmt::format("its sequences have {} tokens, but the launch's have {}", *log.seq_length,
                       scenario.job.seq_length);
  }
  return other_parameters(log, scenario, layout);
}

std::string why_steps_are_anothers(const interop::MeasuredSteps& steps, const Scenario& scenario,
                                   const Layout& layout) {
  const int batch = steps.global_batch_size;
  const int ranks = layout.data_parallel_size * layout.micro_batch_size;
  if (!steps.batch_by_tokens || batch == scenario.job.global_batch_size) return "";
  if (ranks > 0 && batch % ranks == 0) return "";
  return fmt::format(
      "its steps have {} sequences (time x tokens per second), but the launch's have "
      "{}",
      batch, scenario.job.global_batch_size);
}

std::string what_log_says(const interop::TrainingLog& log) {
  std::string text;
  if (const auto steps = interop::measured_steps(log, {})) {
    text += fmt::format("; its step time is {} (median of {})",
                        reports::seconds_text(steps->median), steps->used);
  }
  if (log.peak_allocated) {
    text +=
        fmt::format("; {} are allocated at the peak", reports::memory_text(*log.peak_allocated));
  }
  if (log.peak_reserved) {
    text += fmt::format("; {} are reserved at the peak", reports::memory_text(*log.peak_reserved));
  }
  return text;
}

std::string why_step_is_impossible(const Estimate& estimate, Seconds measured) {
  const double used = estimate.model_flops_utilization * (estimate.step_time / measured);
  if (used <= 1.0) return "";
  return fmt::format("its step of {} would be {} % of the devices' peak (MFU)",
                     reports::seconds_text(measured), number_text(100.0 * used, 3));
}

}  // namespace meshwright::app
