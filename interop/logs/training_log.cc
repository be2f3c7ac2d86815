// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/training_log.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "interop/logs/log_numbers.h"
#include "interop/logs/run_facts.h"
#include "sim/base/statistics.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr double kMebibyte = 1'048'576.0;
constexpr double kGibibyte = 1024.0 * kMebibyte;
constexpr std::size_t kLongestLine = 1U << 16U;

void raise(std::optional<Bytes>& peak, std::optional<double> amount, double unit) {
  if (amount && *amount > 0.0) peak = std::max(peak.value_or(bytes(0)), bytes(*amount * unit));
}

// A reader of one software's lines: whether the line was a step of it.
using StepReader = bool (*)(std::string_view line, LogStep& step);

bool megatron_step(std::string_view line, LogStep& step) {
  const auto iteration = count_behind(line, "iteration ");
  if (!iteration) return false;
  const auto in_ms = positive_behind(line, "elapsed time per iteration (ms):");
  const auto in_s = positive_behind(line, "elapsed time per iteration (s):");
  if (!in_ms && !in_s) return false;
  step.iteration = *iteration;
  step.time = in_ms ? milliseconds(*in_ms) : seconds(*in_s);
  step.global_batch_size = count_behind(line, "global batch size:").value_or(0);
  for (const char* label :
       {"throughput per GPU (TFLOP/s/GPU):", "compute per GPU (TFLOP/s/GPU):", "TFLOPs:"}) {
    if (!step.tflops_per_gpu) step.tflops_per_gpu = positive_behind(line, label);
  }
  return true;
}

bool nanotron_step(std::string_view line, LogStep& step) {
  const auto iteration = count_behind(line, "iteration:");
  const auto time = positive_behind(line, "elapsed_time_per_iteration_ms:");
  if (!iteration || !time) return false;
  step.iteration = *iteration;
  // Printed with three digits: tokens a second say as much.
  step.time = milliseconds(*time);
  step.global_batch_size = count_behind(line, "global_batch_size:").value_or(0);
  step.tflops_per_gpu = positive_behind(line, "model_tflops_per_gpu:");
  return true;
}

bool torchtitan_step(std::string_view line, LogStep& step) {
  const auto iteration = count_behind(line, "step:");
  const auto rate = positive_behind(line, "tps:");
  if (!iteration || !rate) return false;
  step.iteration = *iteration;
  step.tokens_per_second_per_gpu = rate;
  step.tflops_per_gpu = positive_behind(line, "tflops:");
  return true;
}

bool deepspeed_step(std::string_view line, LogStep& step) {
  if (const auto time = positive_behind(line, "iter time (s):"); time) {
    const auto iteration = count_behind(line, "steps:");
    if (!iteration) return false;
    step.iteration = *iteration;
    step.time = seconds(*time);
    return true;
  }
  const auto iteration = count_behind(line, "global_step=");
  const auto rate = positive_behind(line, "CurrSamplesPerSec=");
  if (!iteration || !rate) return false;
  step.iteration = *iteration;
  step.samples_per_second = rate;
  return true;
}

struct Dialect {
  std::string_view target;
  StepReader read;
};
constexpr std::array kDialects{
    Dialect{"nanotron", nanotron_step}, Dialect{"Megatron-LM", megatron_step},
    Dialect{"torchtitan", torchtitan_step}, Dialect{"DeepSpeed", deepspeed_step}};

class LogReader {
 public:
  TrainingLog read(std::string_view text) {
    for (const std::string& line : split_lines(text)) {
      ++number_;
      read_line(plain(std::string_view(line).substr(0, kLongestLine)));
    }
    return std::move(log_);
  }

 private:
  // Without colours and carriage returns.
  static std::string plain(std::string_view line) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
        while (i < line.size() && std::isalpha(static_cast<unsigned char>(line[i])) == 0) ++i;
      } else if (line[i] != '\r') {
        text += line[i];
      }
    }
    return text;
  }

  void read_line(const std::string& line) {
    if (contains(line, "OutOfMemoryError") || contains(line, "CUDA out of memory")) {
      if (!log_.out_of_memory) log_.out_of_memory_line = number_;
      log_.out_of_memory = true;
    }
    read_memory(line);
    read_sizes(line);
    read_run_facts(line, log_);
    if (read_step(line)) {
      timers_follow_ = false;
      return;
    }
    read_composer(line);
    read_timer(line);
  }

  bool read_step(const std::string& line) {
    for (const Dialect& dialect : kDialects) {
      LogStep step;
      if (!dialect.read(line, step)) continue;
      // Megatron-DeepSpeed prints DeepSpeed's lines between its own: the first kind is read.
      if (!log_.target.empty() && log_.target != dialect.target) {
        if (log_.target != "DeepSpeed" || dialect.target != "Megatron-LM") return false;
        log_.steps.clear();
        log_.starts.clear();
      }
      log_.target = dialect.target;
      add(step);
      return true;
    }
    return false;
  }

  // Every rank may print a step; one that goes back is a start from a checkpoint.
  void add(LogStep step) {
    step.line = number_;
    if (!log_.steps.empty()) {
      const int last = log_.steps.back().iteration;
      if (step.iteration == last) return;
      if (step.iteration < last) {
        if (last - step.iteration <= 1) return;  // ranks out of order
        log_.starts.push_back(log_.steps.size());
      }
    }
    log_.steps.push_back(step);
  }

  void read_memory(const std::string& line) {
    if (contains(line, "memory (MB)")) {  // Megatron-LM: units of 2^20
      raise(log_.peak_allocated, number_behind(line, "max allocated:"), kMebibyte);
      raise(log_.peak_reserved, number_behind(line, "max reserved:"), kMebibyte);
    }
    if (contains(line, "MaxMemAllocated=")) {  // DeepSpeed: units of 2^30
      raise(log_.peak_allocated, number_behind(line, "MaxMemAllocated="), kGibibyte);
    }
    raise(log_.peak_allocated, number_behind(line, "Peak allocated "), kMebibyte);  // nanotron
    raise(log_.peak_allocated, number_behind(line, "Peak allocated: "), kMebibyte);
    raise(log_.peak_reserved, number_behind(line, "Peak reserved: "), kMebibyte);
    if (contains(line, "tps:")) {  // torchtitan prints what is reserved
      raise(log_.peak_reserved, number_behind(line, "memory:"), kGibibyte);
    }
    raise(log_.peak_allocated, number_behind(line, "memory/peak_allocated_mem:"), 1e9);  // Composer
    raise(log_.peak_reserved, number_behind(line, "memory/peak_reserved_mem:"), 1e9);
  }

  void read_sizes(const std::string& line) {
    if (const auto found = count_behind(line, "using world size:")) log_.world_size = found;
    if (contains(line, "padded vocab (size:")) {
      log_.vocab_size = count_behind(line, "padded vocab (size:");
      log_.padded_vocab_size = count_behind(line, "(new size:");
    }
  }

  // "[batch=10/100]:" and then a line a number.
  void read_composer(const std::string& line) {
    if (const auto batch = count_behind(line, "[batch=")) composer_batch_ = *batch;
    if (composer_batch_ == 0) return;
    const auto rate = positive_behind(line, "throughput/device/tokens_per_sec:");
    if (!rate || (!log_.target.empty() && log_.target != "llm-foundry")) return;
    log_.target = "llm-foundry";
    LogStep step;
    step.iteration = composer_batch_;
    step.tokens_per_second_per_gpu = rate;
    add(step);
    composer_batch_ = 0;
  }

  // "max time across ranks (ms):" and then "    optimizer ......: 12.3" or "(11.0, 12.3)".
  void read_timer(const std::string& line) {
    if (contains(line, "time across ranks (ms):")) {
      timers_follow_ = true;
      return;
    }
    if (!timers_follow_) return;
    const std::size_t dots = line.find("..");
    const std::size_t colon = dots == std::string::npos ? dots : line.find(": ", dots);
    if (colon == std::string::npos || dots < 2) {
      timers_follow_ = false;
      return;
    }
    const std::string label = trimmed_right(line.substr(0, dots));
    const std::string name = label.substr(label.find_last_of(" \t:") + 1);
    const std::string value = line.substr(colon + 2);
    const std::size_t comma = value.find(", ");
    const auto most =
        number_at(comma == std::string::npos ? std::string_view(value)
                                             : std::string_view(value).substr(comma + 2));
    if (most && !name.empty()) log_.timers[name].push_back(milliseconds(*most));
  }

  TrainingLog log_;
  int number_ = 0;
  int composer_batch_ = 0;
  bool timers_follow_ = false;
};

std::optional<double> seconds_of(const LogStep& step, const StepSize& size) {
  if (step.time) return step.time->value();
  const double sequences =
      step.global_batch_size > 0 ? step.global_batch_size : size.global_batch_size;
  if (step.samples_per_second && sequences > 0) return sequences / *step.samples_per_second;
  if (step.tokens_per_second_per_gpu && sequences > 0 && size.gpus > 0) {
    return sequences * size.seq_length / (*step.tokens_per_second_per_gpu * size.gpus);
  }
  return std::nullopt;
}

// The batch of the most steps; the later of two with as many.
int usual_batch(const std::vector<LogStep>& steps) {
  std::map<int, int> counts;
  int best = 0;
  for (const LogStep& step : steps) {
    if (++counts[step.global_batch_size] >= counts[best]) best = step.global_batch_size;
  }
  return best;
}

int warm_up_of(std::size_t steps) {
  constexpr std::size_t kMost = 10;
  if (steps < 4) return 0;
  return static_cast<int>(std::clamp<std::size_t>(steps / 10, 1, kMost));
}

}  // namespace

TrainingLog read_training_log(std::string_view text) { return LogReader().read(text); }

std::optional<MeasuredSteps> measured_steps(const TrainingLog& log, const StepSize& size) {
  MeasuredSteps found;
  found.global_batch_size = usual_batch(log.steps);
  found.restarts = static_cast<int>(log.starts.size());
  std::vector<std::size_t> begins{0};
  begins.insert(begins.end(), log.starts.begin(), log.starts.end());
  begins.push_back(log.steps.size());
  std::vector<double> times;
  for (std::size_t k = 0; k + 1 < begins.size(); ++k) {
    const auto warm_up = static_cast<std::size_t>(warm_up_of(begins[k + 1] - begins[k]));
    found.warm_up += static_cast<int>(warm_up);
    for (std::size_t i = begins[k] + warm_up; i < begins[k + 1]; ++i) {
      const LogStep& step = log.steps[i];
      if (step.global_batch_size != found.global_batch_size) {
        ++found.other_batch;
      } else if (const auto time = seconds_of(step, size)) {
        times.push_back(*time);
      }
    }
  }
  if (times.empty()) return std::nullopt;
  found.used = static_cast<int>(times.size());
  found.median = seconds(interpolated_quantile(times, 0.5));
  found.p10 = seconds(interpolated_quantile(times, 0.1));
  found.p90 = seconds(interpolated_quantile(times, 0.9));
  return found;
}

}  // namespace meshwright::interop
