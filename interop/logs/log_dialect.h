// SPDX-License-Identifier: Apache-2.0
// How each software prints its steps: a reader of lines for those that print numbers of a step, a
// source of its own for those whose times follow from several lines.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "interop/logs/training_log.h"

namespace meshwright::interop {

// Relation of a line to a step: of another kind, first line of a step, or one more of the last
// step.
enum class LinePart { none, begins, continues };

// `step` is the last step of this software and is changed by the line; one that begins a step
// starts from an empty one.
using LineReader = LinePart (*)(std::string_view line, LogStep& step);

// The steps of one software, in the log's order.
struct StepSeries {
  std::vector<LogStep> steps;
  std::vector<std::size_t> starts;
  // Every rank may print a step; one that goes back is a start from a checkpoint.
  void add(const LogStep& step);
};

class StepSource {
 public:
  StepSource() = default;
  StepSource(const StepSource&) = delete;
  StepSource& operator=(const StepSource&) = delete;
  virtual ~StepSource() = default;
  virtual void read(std::string_view line, int number) = 0;
  virtual StepSeries take() = 0;
};

// Lines that each are read alone.
class LineSource : public StepSource {
 public:
  explicit LineSource(LineReader reader) : reader_(reader) {}
  void read(std::string_view line, int number) override;
  StepSeries take() override;

 private:
  void close();

  LineReader reader_;
  LogStep open_;
  StepSeries series_;
};

struct Dialect {
  std::string_view target;
  std::unique_ptr<StepSource> (*source)();
};

// The more exact come first: where several print the same steps, the first one is read.
std::span<const Dialect> log_dialects();

// Readers of lines.
LinePart nanotron_line(std::string_view line, LogStep& step);
LinePart neox_line(std::string_view line, LogStep& step);
LinePart megatron_line(std::string_view line, LogStep& step);
LinePart deepspeed_line(std::string_view line, LogStep& step);
LinePart torchtitan_line(std::string_view line, LogStep& step);
LinePart nanochat_line(std::string_view line, LogStep& step);
LinePart maxtext_line(std::string_view line, LogStep& step);
LinePart automodel_line(std::string_view line, LogStep& step);
LinePart torchtune_line(std::string_view line, LogStep& step);
LinePart composer_line(std::string_view line, LogStep& step);
LinePart olmo_line(std::string_view line, LogStep& step);
LinePart olmo_core_line(std::string_view line, LogStep& step);
LinePart dllogger_line(std::string_view line, LogStep& step);
LinePart nemo_line(std::string_view line, LogStep& step);
LinePart nemo_bar_line(std::string_view line, LogStep& step);
LinePart trainer_rate_line(std::string_view line, LogStep& step);

// Sources of their own (trainer_sources.cc).
std::unique_ptr<StepSource> swift_source();         // ms-swift's mean speed since the start
std::unique_ptr<StepSource> progress_bar_source();  // tqdm's elapsed time
std::unique_ptr<StepSource> run_time_source();      // Hugging Face's time of the whole run

}  // namespace meshwright::interop
