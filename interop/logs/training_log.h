// SPDX-License-Identifier: Apache-2.0
// What a training log measured. log_dialect.h lists the software whose lines are read. Lines are
// found behind any prefix, between any others; of a log of many ranks each iteration counts once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/units.h"

namespace meshwright::interop {

class LogPattern;

struct LogStep {
  int iteration = 0;          // as the log counts
  int line = 0;               // line of the log, from 1
  int global_batch_size = 0;  // 0: not said
  // One of these, as the software prints it.
  std::optional<Seconds> time;
  std::optional<double> tokens_per_second_per_gpu, tokens_per_second, samples_per_second;
  std::optional<double> tflops_per_gpu;  // by the software's own formula
  // Sequences since the beginning, this step's included; the batch follows from two steps.
  std::optional<double> consumed_samples;
  std::optional<double> tokens;  // of this step, on all devices

  [[nodiscard]] bool has_time() const {
    return time || tokens_per_second_per_gpu || tokens_per_second || samples_per_second;
  }
};

struct TrainingLog {
  std::string target;               // "Megatron-LM"; empty: no step was found
  std::vector<LogStep> steps;       // in the log's order
  std::vector<std::size_t> starts;  // indices of steps at which training began again
  std::optional<Bytes> peak_allocated, peak_reserved;  // the most that any line says
  bool out_of_memory = false;
  int out_of_memory_line = 0;  // line of the log, from 1; 0: none
  // Megatron-LM's timers: most seconds of any rank an iteration, one value a report.
  std::map<std::string, std::vector<Seconds>> timers;
  std::optional<int> world_size, padded_vocab_size, vocab_size;
  std::optional<int> global_batch_size;  // said once, of the whole run
  // They tell whether the log is of the model and the device that the user names.
  std::optional<double> parameters;  // of the whole model; some software prints two digits only
  std::optional<int> seq_length;
  std::optional<std::string> device;  // "NVIDIA H100 80GB HBM3"
  // Parameters by tensor and pipeline rank (Megatron-LM). Their sum counts a parameter that several
  // ranks hold once for each.
  std::map<std::pair<int, int>, double> parameters_on_rank;
};

// Steps are those of the pattern, where one is given, or else of the most exact software that
// printed any.
TrainingLog read_training_log(std::string_view text, const LogPattern* pattern = nullptr);

// The names of all software whose steps are read: "Megatron-LM, torchtitan".
std::string software_whose_logs_are_read();

// Steps of one global batch, after the warm-up of each start. Warm-up is the first tenth, at least
// one and at most ten steps, if three or more remain.
struct MeasuredSteps {
  Seconds median, p10, p90;
  int used = 0, warm_up = 0, other_batch = 0;
  int global_batch_size = 0;     // 0: the log does not say
  bool batch_by_tokens = false;  // it follows from tokens, not from a number of the log
  int restarts = 0;              // starts after the first
};

// Sizes that turn printed rates into step times: tokens per sequence, sequences per step, devices.
struct StepSize {
  int seq_length = 0, global_batch_size = 0, gpus = 0;
};

// Nothing where no step has a time.
std::optional<MeasuredSteps> measured_steps(const TrainingLog& log, const StepSize& size);

}  // namespace meshwright::interop
