// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/training_log.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <utility>

#include "interop/logs/log_dialect.h"
#include "interop/logs/log_memory.h"
#include "interop/logs/log_numbers.h"
#include "interop/logs/log_pattern.h"
#include "interop/logs/run_facts.h"
#include "sim/base/statistics.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::size_t kLongestLine = 1U << 16U;

// Sequences between two steps, where their number since the beginning is printed.
void set_batches(StepSeries& series) {
  std::size_t start = 0;
  for (std::size_t i = 1; i < series.steps.size(); ++i) {
    const LogStep& before = series.steps[i - 1];
    LogStep& step = series.steps[i];
    const int made = step.iteration - before.iteration;
    if (made <= 0) start = i;
    if (made <= 0 || !before.consumed_samples || !step.consumed_samples) continue;
    const double batch = (*step.consumed_samples - *before.consumed_samples) / made;
    if (batch < 1.0 || batch > 1e9 || batch != std::floor(batch)) continue;
    if (step.global_batch_size == 0) step.global_batch_size = static_cast<int>(batch);
    LogStep& first = series.steps[start];
    if (i == start + 1 && first.global_batch_size == 0) {
      first.global_batch_size = static_cast<int>(batch);
    }
  }
}

// Steps of the user's pattern.
class PatternSource : public StepSource {
 public:
  explicit PatternSource(const LogPattern& pattern) : pattern_(pattern) {}

  void read(std::string_view line, int number) override {
    auto reading = pattern_.read(line);
    if (!reading) return;
    LogStep& step = reading->step;
    if (!reading->numbered) step.iteration = ++count_;
    step.line = number;
    series_.add(step);
    if (reading->memory) memory_ = std::max(memory_.value_or(bytes(0)), *reading->memory);
  }

  StepSeries take() override { return std::move(series_); }
  [[nodiscard]] std::optional<Bytes> memory() const { return memory_; }

 private:
  const LogPattern& pattern_;
  StepSeries series_;
  std::optional<Bytes> memory_;
  int count_ = 0;
};

class LogReader {
 public:
  explicit LogReader(const LogPattern* pattern) {
    if (pattern != nullptr) {
      pattern_ = std::make_unique<PatternSource>(*pattern);
      return;
    }
    for (const Dialect& dialect : log_dialects()) sources_.push_back(dialect.source());
  }

  TrainingLog read(std::string_view text) {
    for (const std::string& line : split_lines(text)) {
      ++number_;
      // A progress bar begins again behind each carriage return.
      for (const std::string& part : split(line, '\r')) {
        read_line(plain(std::string_view(part).substr(0, kLongestLine)));
      }
    }
    take_steps();
    return std::move(log_);
  }

 private:
  // Without colours.
  static std::string plain(std::string_view line) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
        while (i < line.size() && std::isalpha(static_cast<unsigned char>(line[i])) == 0) ++i;
      } else {
        text += line[i];
      }
    }
    return text;
  }

  void read_line(const std::string& line) {
    if (line.empty()) return;
    if (contains(line, "OutOfMemoryError") || contains(line, "CUDA out of memory")) {
      if (!log_.out_of_memory) log_.out_of_memory_line = number_;
      log_.out_of_memory = true;
    }
    read_peak_memory(line, log_);
    read_sizes(line);
    read_run_facts(line, log_);
    read_timer(line);
    if (pattern_) pattern_->read(line, number_);
    for (const auto& source : sources_) source->read(line, number_);
  }

  // Takes the steps of the software that prints them most exactly, unless it printed almost none.
  void take_steps() {
    constexpr std::size_t kEnough = 3;
    if (pattern_) {
      take("--log-pattern", pattern_->take());
      if (const auto memory = pattern_->memory()) {
        log_.peak_allocated = memory;
        log_.peak_reserved = memory;
      }
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      StepSeries series = sources_[i]->take();
      const bool better =
          log_.steps.empty() || (log_.steps.size() < kEnough && series.steps.size() >= kEnough);
      if (better && !series.steps.empty()) take(log_dialects()[i].target, std::move(series));
    }
  }

  void take(std::string_view target, StepSeries series) {
    if (series.steps.empty()) return;
    set_batches(series);
    for (LogStep& step : series.steps) {
      if (step.global_batch_size == 0) {
        step.global_batch_size = log_.global_batch_size.value_or(0);
      }
    }
    log_.target = target;
    log_.steps = std::move(series.steps);
    log_.starts = std::move(series.starts);
  }

  void read_sizes(const std::string& line) {
    for (const char* label : {"using world size:", "Starting with ", "Num_devices:"}) {
      if (label[0] == 'S' && !contains(line, "distributed processes registered")) continue;
      if (const auto found = count_behind(line, label); found && *found > 0)
        log_.world_size = found;
    }
    if (contains(line, "padded vocab (size:")) {
      log_.vocab_size = count_behind(line, "padded vocab (size:");
      log_.padded_vocab_size = count_behind(line, "(new size:");
    }
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
  std::vector<std::unique_ptr<StepSource>> sources_;  // of log_dialects
  std::unique_ptr<PatternSource> pattern_;            // in place of them
  int number_ = 0;
  bool timers_follow_ = false;
};

// Sequences of a step by its tokens: the rate of a device over the step's time, or all tokens that
// had a target where they are whole sequences. 0: not known.
int batch_by_tokens(const TrainingLog& log, const StepSize& size) {
  if (size.seq_length <= 0) return 0;
  std::vector<double> batches;
  bool whole = false;
  for (const LogStep& step : log.steps) {
    if (step.time && step.tokens_per_second_per_gpu && size.gpus > 0) {
      batches.push_back(*step.tokens_per_second_per_gpu * step.time->value() * size.gpus /
                        size.seq_length);
    } else if (step.tokens) {
      whole = true;
      batches.push_back(*step.tokens / size.seq_length);
    }
  }
  if (batches.empty()) return 0;
  const double batch = interpolated_quantile(batches, 0.5);
  if (batch < 0.5 || batch > 1e9 || (whole && batch != std::floor(batch))) return 0;
  // Rates are rounded.
  const double launched = size.global_batch_size;
  if (std::abs(batch - launched) <= 0.01 * launched) return size.global_batch_size;
  return static_cast<int>(std::lround(batch));
}

int batch_of(const LogStep& step, int by_tokens) {
  return step.global_batch_size > 0 ? step.global_batch_size : by_tokens;
}

std::optional<double> seconds_of(const LogStep& step, const StepSize& size) {
  if (step.time) return step.time->value();
  const double sequences =
      step.global_batch_size > 0 ? step.global_batch_size : size.global_batch_size;
  if (step.samples_per_second && sequences > 0) return sequences / *step.samples_per_second;
  if (step.tokens_per_second && sequences > 0 && size.seq_length > 0) {
    return sequences * size.seq_length / *step.tokens_per_second;
  }
  if (step.tokens_per_second_per_gpu && sequences > 0 && size.gpus > 0) {
    return sequences * size.seq_length / (*step.tokens_per_second_per_gpu * size.gpus);
  }
  return std::nullopt;
}

// The batch of the most steps; the later of two with as many.
int usual_batch(const std::vector<LogStep>& steps, int by_tokens) {
  std::map<int, int> counts;
  int best = 0;
  for (const LogStep& step : steps) {
    const int batch = batch_of(step, by_tokens);
    if (++counts[batch] >= counts[best]) best = batch;
  }
  return best;
}

int warm_up_of(std::size_t steps) {
  constexpr std::size_t kMost = 10;
  if (steps < 4) return 0;
  return static_cast<int>(std::clamp<std::size_t>(steps / 10, 1, kMost));
}

}  // namespace

TrainingLog read_training_log(std::string_view text, const LogPattern* pattern) {
  return LogReader(pattern).read(text);
}

std::string software_whose_logs_are_read() {
  std::vector<std::string_view> names;
  std::string list;
  for (const Dialect& dialect : log_dialects()) {
    if (std::find(names.begin(), names.end(), dialect.target) != names.end()) continue;
    names.push_back(dialect.target);
    append_to_list(list, ", ", dialect.target);
  }
  return list;
}

std::optional<MeasuredSteps> measured_steps(const TrainingLog& log, const StepSize& size) {
  MeasuredSteps found;
  const int by_tokens = batch_by_tokens(log, size);
  found.global_batch_size = usual_batch(log.steps, by_tokens);
  found.batch_by_tokens = by_tokens > 0 && found.global_batch_size == by_tokens;
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
      if (batch_of(step, by_tokens) != found.global_batch_size) {
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
