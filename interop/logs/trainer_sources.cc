// SPDX-License-Identifier: Apache-2.0
// Hugging Face's Trainer and what stands on it (TRL, LLaMA-Factory, axolotl, ms-swift), also
// ms-swift's Megatron part. They print no time of a step: it follows from a progress bar, from the
// mean speed since the start, or from the time of the whole run.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <tuple>

#include "interop/logs/log_dialect.h"
#include "interop/logs/log_numbers.h"
#include "interop/logs/progress_bar.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

LogStep timed_step(int iteration, int line, double time) {
  LogStep step;
  step.iteration = iteration;
  step.line = line;
  step.time = seconds(time);
  return step;
}

// Tells whether a bar's label belongs to other work: data, checkpoints, evaluation.
bool is_other_work(std::string_view label) {
  constexpr std::array kOthers{"map",    "load",    "download", "fetch",   "token",   "eval",
                               "valid",  "saving",  "generat",  "filter",  "pack",    "convert",
                               "upload", "group",   "shard",    "predict", "drop",    "writing",
                               "prompt", "process", "extract",  "sanity",  "testing", "captur",
                               "adding", "truncat", "creating", "quantiz", "merging"};
  return std::any_of(kOthers.begin(), kOthers.end(),
                     [&](const char* other) { return contains(label, other); });
}

// "1:27:10.11", "1 day, 2:03:04", or seconds.
std::optional<double> run_time_at(std::string_view text) {
  double days = 0;
  const std::size_t day = text.find(" day");
  const std::size_t clock_at = text.find(", ");
  if (day < clock_at && clock_at != std::string_view::npos) {
    days = number_at(text).value_or(0.0);
    text.remove_prefix(clock_at + 2);
  }
  const std::string_view clock = text.substr(0, text.find_first_not_of("0123456789.:"));
  double sum = 0;
  for (const std::string& part : split(clock, ':')) {
    const auto number = number_at(part);
    if (!number) return std::nullopt;
    sum = sum * 60.0 + *number;
  }
  sum += days * 86'400.0;
  return sum > 0.0 ? std::optional(sum) : std::nullopt;
}

// Elapsed time between updates of tqdm. It is printed in whole seconds, so steps are taken
// together until rounding is small.
class ProgressBarSource : public StepSource {
 public:
  void read(std::string_view line, int number) override {
    read_trainer_log(line, number);
    while (const auto bar = next_progress_bar(line)) {
      if (!bar->elapsed || !bar->counts_steps || bar->total < 1 || is_other_work(bar->label)) {
        continue;
      }
      add({bar->done, number, bar->elapsed->value(), bar->time_per_step},
          bars_[{bar->total, bar->label}]);
    }
  }

  // The bar of the training spans evaluations and all other bars.
  StepSeries take() override {
    StepSeries series;
    const auto longest = std::max_element(
        bars_.begin(), bars_.end(),
        [](const auto& a, const auto& b) { return seen(a.second) < seen(b.second); });
    if (longest == bars_.end()) return series;
    for (const Run& run : longest->second) {
      const std::size_t before = series.steps.size();
      append(run, series.steps);
      if (before > 0 && series.steps.size() > before) series.starts.push_back(before);
    }
    return series;
  }

 private:
  struct Update {
    int done = 0, line = 0;
    double elapsed = 0;
    std::optional<Seconds> rate;
  };
  using Run = std::vector<Update>;

  // LLaMA-Factory's trainer_log.jsonl has what its bar shows: {"current_steps": 10,
  // "total_steps": 400, ..., "elapsed_time": "0:02:47"}.
  void read_trainer_log(std::string_view line, int number) {
    const auto done = exact_value(line, "\"current_steps\"");
    const auto total = exact_value(line, "\"total_steps\"");
    const auto text = value_behind(line, "\"elapsed_time\"");
    const auto elapsed = text ? run_time_at(*text) : std::nullopt;
    if (!done || !total || !elapsed || *done < 1.0 || *total < 1.0 || *total > 1e9) return;
    if (*done > *total) return;
    add({static_cast<int>(*done), number, *elapsed, std::nullopt},
        bars_[{static_cast<int>(*total), "trainer_log.jsonl"}]);
  }

  static double seen(const std::vector<Run>& runs) {
    double sum = 0;
    for (const Run& run : runs) {
      sum += run.back().elapsed - (run.size() > 1 ? run.front().elapsed : 0.0);
    }
    return sum;
  }

  static void add(const Update& update, std::vector<Run>& runs) {
    if (runs.empty()) {
      runs.push_back({update});
      return;
    }
    const Update& last = runs.back().back();
    if (update.done < last.done && update.elapsed < last.elapsed) {
      runs.push_back({update});
    } else if (update.done > last.done && update.elapsed >= last.elapsed) {
      runs.back().push_back(update);
    }
  }

  // The first update may hold a jump to a checkpoint's step, and begins with the slow first step.
  static void append(const Run& run, std::vector<LogStep>& steps) {
    constexpr double kSpans = 10.0, kShortest = 20.0, kLongest = 100.0;
    constexpr int kFewest = 10;
    const Update& end = run.back();
    if (run.size() == 1 && end.done >= kFewest && end.elapsed > 0.0) {
      steps.push_back(timed_step(end.done, end.line, end.elapsed / end.done));
    }
    const std::size_t first = run.size() > 2 ? 1 : 0;
    const double whole = run.back().elapsed - run[first].elapsed;
    const double span = std::clamp(whole / kSpans, kShortest, kLongest);
    const bool coarse = whole < 3.0 * kShortest;
    Update from = run[first];
    for (std::size_t i = first + 1; i < run.size(); ++i) {
      const Update& to = run[i];
      if (coarse && to.rate) steps.push_back(timed_step(to.done, to.line, to.rate->value()));
      const double passed = to.elapsed - from.elapsed;
      const bool enough = passed >= span || (coarse && !to.rate && passed > 0.0);
      if (!enough) continue;
      if (!coarse || !to.rate) {
        steps.push_back(timed_step(to.done, to.line, passed / (to.done - from.done)));
      }
      from = to;
    }
  }

  std::map<std::pair<int, std::string>, std::vector<Run>> bars_;
};

// "1h 2m 3s", "34s".
std::optional<double> spoken_time(std::string_view text) {
  double sum = 0;
  bool any = false;
  while (const auto number = number_at(text)) {
    const std::size_t unit = text.find_first_not_of("0123456789.");
    if (unit == std::string_view::npos) break;
    const double seconds_of_unit = text[unit] == 'd'   ? 86'400.0
                                   : text[unit] == 'h' ? 3600.0
                                   : text[unit] == 'm' ? 60.0
                                   : text[unit] == 's' ? 1.0
                                                       : 0.0;
    if (seconds_of_unit == 0.0) break;
    sum += *number * seconds_of_unit;
    any = true;
    text.remove_prefix(unit + 1);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return any ? std::optional(sum) : std::nullopt;
}

// "{..., 'train_speed(iter/s)': 0.0281, 'global_step/max_steps': '1/100', 'elapsed_time': '34s'}":
// the speed is the mean since the start, so that differences give the steps.
class SwiftSource : public StepSource {
 public:
  void read(std::string_view line, int number) override {
    const auto rate = positive_value(line, "train_speed(iter/s)");
    const auto slowness = positive_value(line, "train_speed(s/it)");
    if (!rate && !slowness) return;
    const auto iteration = iteration_of(line);
    if (!iteration) return;
    const double mean = rate ? 1.0 / *rate : *slowness;
    if (*iteration < last_iteration_) {
      last_iteration_ = 0;
      last_elapsed_ = 0;
    }
    const bool first = last_iteration_ == 0;
    // The rate of the Trainer's part counts the iterations of the checkpoint, too.
    if (first) skipped_ = rate ? 0 : steps_of_checkpoint(line, *iteration, mean);
    const double elapsed = mean * (*iteration - skipped_);
    const int made = *iteration - (first ? skipped_ : last_iteration_);
    if (made > 0 && elapsed > last_elapsed_) {
      series_.add(timed_step(*iteration, number, (elapsed - last_elapsed_) / made));
    }
    last_iteration_ = *iteration;
    last_elapsed_ = elapsed;
  }

  StepSeries take() override { return std::move(series_); }

 private:
  static std::optional<int> iteration_of(std::string_view line) {
    for (const char* key : {"global_step/max_steps", "'iteration'", "\"iteration\"",
                            "'global_step'", "\"global_step\""}) {
      const auto text = value_behind(line, key);
      // "steps[global_step/max_steps]": the bracket belongs to the key.
      if (!text) continue;
      const auto value = text->starts_with(']') ? value_behind(*text, "]") : text;
      const auto number = number_at(*value);
      if (number && *number >= 1.0 && *number < 1e9) return static_cast<int>(*number);
    }
    return std::nullopt;
  }

  // The first entry since a checkpoint was loaded has more iterations than its speed explains.
  static int steps_of_checkpoint(std::string_view line, int iteration, double mean) {
    const auto text = value_behind(line, "elapsed_time");
    const auto elapsed = text ? spoken_time(*text) : std::nullopt;
    if (!elapsed) return 0;
    const double made = std::max(1.0, std::round((*elapsed + 0.5) / mean));
    return made > 0.9 * iteration - 1.0 ? 0 : iteration - static_cast<int>(made);
  }

  StepSeries series_;
  int last_iteration_ = 0, skipped_ = 0;
  double last_elapsed_ = 0;
};

// "{'train_runtime': 5230.1, 'train_steps_per_second': 0.191, ...}", or the same as a table.
class RunTimeSource : public StepSource {
 public:
  void read(std::string_view line, int number) override {
    if (const auto steps = positive_behind(line, "Total optimization steps =")) steps_ = *steps;
    if (const auto text = value_behind(line, "train_runtime")) {
      if (const auto time = run_time_at(*text)) {
        time_ = *time;
        line_ = number;
      }
    }
    if (const auto rate = positive_value(line, "train_steps_per_second")) rate_ = *rate;
  }

  StepSeries take() override {
    StepSeries series;
    if (time_ <= 0.0) return series;
    // The rate has three digits behind the point only.
    const double steps = steps_ > 0.0 ? steps_ : std::round(time_ * rate_);
    if (steps < 1.0 || steps > 1e9) return series;
    series.add(timed_step(static_cast<int>(steps), line_, time_ / steps));
    return series;
  }

 private:
  double steps_ = 0, time_ = 0, rate_ = 0;
  int line_ = 0;
};

}  // namespace

std::unique_ptr<StepSource> swift_source() { return std::make_unique<SwiftSource>(); }
std::unique_ptr<StepSource> progress_bar_source() { return std::make_unique<ProgressBarSource>(); }
std::unique_ptr<StepSource> run_time_source() { return std::make_unique<RunTimeSource>(); }

}  // namespace meshwright::interop
