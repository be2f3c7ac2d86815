// SPDX-License-Identifier: Apache-2.0
// Lines of Megatron-LM and of software made from it (Megatron-DeepSpeed, Megatron-Bridge, Primus,
// GPT-NeoX), of DeepSpeed and nanotron.
#include <cmath>

#include "interop/logs/log_dialect.h"
#include "interop/logs/log_numbers.h"

namespace meshwright::interop {
namespace {

// "iteration       10/     500": the number before the slash.
std::optional<int> megatron_iteration(std::string_view line) {
  constexpr std::string_view kLabel = "iteration ";
  for (std::size_t at = line.find(kLabel); at != std::string_view::npos;
       at = line.find(kLabel, at + 1)) {
    if (const auto found = count_behind(line.substr(at), kLabel)) return found;
  }
  return std::nullopt;
}

std::optional<Seconds> megatron_time(std::string_view line) {
  // ROCm's fork prints "last/mean of the last ones": the first number is the step's.
  if (const auto ms = positive_behind(line, "elapsed time per iteration (ms):")) {
    return milliseconds(*ms);
  }
  if (const auto s = positive_behind(line, "elapsed time per iteration (s):")) return seconds(*s);
  return std::nullopt;
}

}  // namespace

LinePart megatron_line(std::string_view line, LogStep& step) {
  const auto time = megatron_time(line);
  const auto iteration = time ? megatron_iteration(line) : std::nullopt;
  if (!iteration) return LinePart::none;
  step = {};
  step.iteration = *iteration;
  step.time = time;
  step.global_batch_size = count_behind(line, "global batch size:").value_or(0);
  step.consumed_samples = number_behind(line, "consumed samples:");
  for (const char* label :
       {"throughput per GPU (TFLOP/s/GPU):", "compute per GPU (TFLOP/s/GPU):", "TFLOPs:"}) {
    if (!step.tflops_per_gpu) step.tflops_per_gpu = positive_behind(line, label);
  }
  return LinePart::begins;
}

// "samples/sec: 51.234 | iteration       10/      50 | elapsed time per iteration (ms): 9876.5 |"
LinePart neox_line(std::string_view line, LogStep& step) {
  const auto rate = positive_behind(line, "samples/sec:");
  if (!rate || megatron_line(line, step) == LinePart::none) return LinePart::none;
  // The rate was the batch over the time.
  const double batch = *rate * step.time->value();
  if (batch < 1e9 && std::abs(batch - std::round(batch)) < 0.25) {
    step.global_batch_size = static_cast<int>(std::lround(batch));
  }
  const auto rest = behind(line, "approx flops per GPU:");
  if (rest && rest->substr(0, rest->find(" ")).ends_with("TFLOPS")) {
    step.tflops_per_gpu = number_at(*rest);
  }
  return LinePart::begins;
}

LinePart nanotron_line(std::string_view line, LogStep& step) {
  const auto time = positive_behind(line, "elapsed_time_per_iteration_ms:");
  const auto iteration = time ? count_behind(line, "iteration:") : std::nullopt;
  if (!iteration) return LinePart::none;
  step = {};
  step.iteration = *iteration;
  // Printed with three digits: tokens a second say as much.
  step.time = milliseconds(*time);
  step.global_batch_size = count_behind(line, "global_batch_size:").value_or(0);
  step.tflops_per_gpu = positive_behind(line, "model_tflops_per_gpu:");
  return LinePart::begins;
}

LinePart deepspeed_line(std::string_view line, LogStep& step) {
  if (const auto time = positive_behind(line, "iter time (s):"); time) {
    const auto iteration = count_behind(line, "steps:");
    if (!iteration) return LinePart::none;
    step = {};
    step.iteration = *iteration;
    step.time = seconds(*time);
    return LinePart::begins;
  }
  const auto iteration = count_behind(line, "global_step=");
  const auto rate = positive_behind(line, "CurrSamplesPerSec=");
  if (!iteration || !rate) return LinePart::none;
  step = {};
  step.iteration = *iteration;
  step.samples_per_second = rate;
  return LinePart::begins;
}

}  // namespace meshwright::interop
