// SPDX-License-Identifier: Apache-2.0
// Lines of torchtitan, nanochat, MaxText, torchtune, Composer, OLMo and OLMo-core, and rates of
// axolotl.
#include "interop/logs/log_dialect.h"
#include "interop/logs/log_numbers.h"

namespace meshwright::interop {

LinePart torchtitan_line(std::string_view line, LogStep& step) {
  const auto rate = positive_behind(line, "tps:");
  const auto iteration = rate ? count_behind(line, "step:") : std::nullopt;
  if (!iteration) return LinePart::none;
  step = {};
  step.iteration = *iteration;
  step.tokens_per_second_per_gpu = rate;
  step.tflops_per_gpu = positive_behind(line, "tflops:");
  return LinePart::begins;
}

// "step 00004/16704 (0.02%) | loss: 8.89 | lrm: 1.00 | dt: 655.10ms | tok/sec: 800,317 | ..."
LinePart nanochat_line(std::string_view line, LogStep& step) {
  const auto time = positive_behind(line, "| dt:");
  const auto iteration = time ? count_behind(line, "step ") : std::nullopt;
  if (!iteration || line.find("ms | tok/sec:") == std::string_view::npos) return LinePart::none;
  step = {};
  step.iteration = *iteration;
  step.time = seconds(*time / 1e3);
  return LinePart::begins;
}

// "completed step: 5, seconds: 15.570, TFLOP/s/device: 506.597, Tokens/s/device: 1052.266,
// total_weights: 2097152, loss: 12.1"
LinePart maxtext_line(std::string_view line, LogStep& step) {
  const auto iteration = count_behind(line, "completed step:");
  const auto time = iteration ? positive_behind(line, ", seconds:") : std::nullopt;
  if (!time) return LinePart::none;
  step = {};
  step.iteration = *iteration;
  step.time = seconds(*time);
  step.tflops_per_gpu = positive_behind(line, "TFLOP/s/device:");
  step.tokens_per_second_per_gpu = positive_behind(line, "Tokens/s/device:");
  step.global_batch_size = count_behind(line, "global_batch_size:").value_or(0);
  step.tokens = positive_behind(line, "total_weights:");  // those with a target
  return LinePart::begins;
}

// "Step 1 | loss:1.5 lr:2e-05 tokens_per_second_per_gpu:1234.5 peak_memory_alloc:20.1"
LinePart torchtune_line(std::string_view line, LogStep& step) {
  const auto rate = positive_behind(line, "tokens_per_second_per_gpu:");
  const auto iteration = rate ? count_behind(line, "Step ") : std::nullopt;
  if (!iteration) return LinePart::none;
  step = {};
  step.iteration = *iteration;
  step.tokens_per_second_per_gpu = rate;
  return LinePart::begins;
}

// "{'loss': 1.2, ..., 'tokens/train_per_sec_per_gpu': 1234.5}": steps have no number.
LinePart trainer_rate_line(std::string_view line, LogStep& step) {
  if (line.find("'loss'") == std::string_view::npos) return LinePart::none;
  std::optional<double> rate;
  for (const char* key : {"'tokens/train_per_sec_per_gpu'", "'tokens_per_second_per_gpu'",
                          "'train/tokens_per_second_per_gpu'"}) {
    if (!rate) rate = positive_value(line, key);
  }
  if (!rate) return LinePart::none;
  const int next = step.iteration + 1;
  step = {};
  step.iteration = next;
  step.tokens_per_second_per_gpu = rate;
  return LinePart::begins;
}

// "[batch=10/100]:" and then a line a number.
LinePart composer_line(std::string_view line, LogStep& step) {
  if (const auto batch = count_behind(line, "[batch=")) {
    step = {};
    step.iteration = *batch;
    return LinePart::begins;
  }
  const auto rate = positive_behind(line, "throughput/device/tokens_per_sec:");
  if (!rate || step.iteration == 0 || step.tokens_per_second_per_gpu) return LinePart::none;
  step.tokens_per_second_per_gpu = rate;
  return LinePart::continues;
}

namespace {

// "[step=10/739328,epoch=0]" and then a line a number.
std::optional<int> olmo_heading(std::string_view line) { return count_behind(line, "[step="); }

struct OlmoLabels {
  const char* batches;  // a second
  const char* tokens;   // a second and device
};

LinePart olmo_block(std::string_view line, LogStep& step, const OlmoLabels& labels) {
  if (const auto number = olmo_heading(line)) {
    step = {};
    step.iteration = *number;
    return LinePart::begins;
  }
  if (step.iteration == 0) return LinePart::none;
  if (const auto batches = positive_behind(line, labels.batches)) {
    step.time = seconds(1.0 / *batches);
    return LinePart::continues;
  }
  if (const auto tokens = positive_behind(line, labels.tokens)) {
    step.tokens_per_second_per_gpu = tokens;
    return LinePart::continues;
  }
  return LinePart::none;
}

}  // namespace

LinePart olmo_line(std::string_view line, LogStep& step) {
  return olmo_block(
      line, step,
      {"throughput/device/batches_per_second=", "throughput/device/tokens_per_second="});
}

// Means since the start have a name behind the label: "BPS (actual avg)=".
LinePart olmo_core_line(std::string_view line, LogStep& step) {
  return olmo_block(line, step, {"throughput/device/BPS=", "throughput/device/TPS="});
}

}  // namespace meshwright::interop
