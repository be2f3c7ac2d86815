// SPDX-License-Identifier: Apache-2.0
// Lines of NeMo: DLLogger's JSON, the text of NeMo 2.0, Lightning's progress bar, and AutoModel.
#include "interop/logs/log_dialect.h"
#include "interop/logs/log_numbers.h"
#include "interop/logs/progress_bar.h"

namespace meshwright::interop {
namespace {

std::optional<int> nemo_count(std::optional<double> number) {
  if (!number || *number < 0.0 || *number > 1e9) return std::nullopt;
  return static_cast<int>(*number);
}

// "47", or the epoch and the step: "[0, 47]".
std::optional<int> dllogger_number(std::string_view line) {
  const auto text = value_behind(line, "\"step\"");
  if (!text) return std::nullopt;
  if (!text->starts_with('[')) return nemo_count(number_at(*text));
  const std::string_view list = text->substr(1, text->find(']') - 1);
  const std::size_t last = list.find_last_of(", [");
  return nemo_count(number_at(list.substr(last == std::string_view::npos ? 0 : last + 1)));
}

}  // namespace

// One object a line, or printed over several lines.
LinePart dllogger_line(std::string_view line, LogStep& step) {
  const bool begins = line.find("DLLL") != std::string_view::npos;
  if (begins) step = {};
  const auto iteration = dllogger_number(line);
  const auto time = positive_value(line, "\"train_step_timing in s\"");
  const auto samples = exact_value(line, "\"consumed_samples\"");
  if (!begins && !iteration && !time && !samples) return LinePart::none;
  if (iteration) step.iteration = *iteration;
  if (time) step.time = seconds(*time);
  if (samples) step.consumed_samples = samples;
  if (const auto batch = nemo_count(exact_value(line, "\"global_batch_size\""))) {
    step.global_batch_size = *batch;
  }
  if (const auto rate = positive_value(line, "\"TFLOPS_per_GPU\"")) step.tflops_per_gpu = rate;
  return begins ? LinePart::begins : LinePart::continues;
}

// "Training epoch 0, iteration 45/99 | ... | global_step: 45 | ... | train_step_timing in s: 6.08"
LinePart nemo_line(std::string_view line, LogStep& step) {
  const auto time = positive_behind(line, "train_step_timing in s:");
  if (!time) return LinePart::none;
  auto iteration = nemo_count(exact_value(line, "global_step:"));
  if (!iteration) iteration = count_behind(line, ", iteration ");
  if (!iteration) return LinePart::none;
  step = {};
  step.iteration = *iteration;
  step.time = seconds(*time);
  step.global_batch_size = count_behind(line, "global_batch_size:").value_or(0);
  step.consumed_samples = exact_value(line, "consumed_samples:");
  step.tflops_per_gpu = positive_behind(line, "TFLOPS_per_GPU:");
  return LinePart::begins;
}

// "Epoch 0: :  3%|...| 12/400 [01:41<54:40, consumed_samples=6144.0, train_step_timing in s=8.450]"
LinePart nemo_bar_line(std::string_view line, LogStep& step) {
  const auto time = positive_behind(line, "train_step_timing in s=");
  if (!time) return LinePart::none;
  std::string_view rest = line;
  const auto bar = next_progress_bar(rest);
  const auto iteration =
      bar ? std::optional(bar->done) : nemo_count(exact_value(line, "global_step"));
  if (!iteration) return LinePart::none;
  step = {};
  step.iteration = *iteration;
  step.time = seconds(*time);
  step.consumed_samples = exact_value(line, "consumed_samples");
  return LinePart::begins;
}

// "step 3 | epoch 0 | loss 9.7842 | ... | tps 145236.76(72618.38/gpu) | num_label_tokens 524288"
LinePart automodel_line(std::string_view line, LogStep& step) {
  const auto rates = behind(line, "| tps ");
  const auto rate = rates ? positive_behind(*rates, "(") : std::nullopt;
  const auto iteration = rate ? count_behind(line, "step ") : std::nullopt;
  if (!iteration || rates->find("/gpu)") == std::string_view::npos) return LinePart::none;
  step = {};
  step.iteration = *iteration;
  step.tokens_per_second_per_gpu = rate;
  return LinePart::begins;
}

}  // namespace meshwright::interop
