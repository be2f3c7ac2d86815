// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/log_dialect.h"

#include <array>
#include <utility>

namespace meshwright::interop {
namespace {

template <LineReader reader>
std::unique_ptr<StepSource> line_source() {
  return std::make_unique<LineSource>(reader);
}

}  // namespace

void StepSeries::add(const LogStep& step) {
  if (!steps.empty()) {
    const int last = steps.back().iteration;
    if (step.iteration == last) return;
    if (step.iteration < last) {
      if (last - step.iteration <= 1) return;  // ranks out of order
      starts.push_back(steps.size());
    }
  }
  steps.push_back(step);
}

void LineSource::read(std::string_view line, int number) {
  LogStep step = open_;
  const LinePart part = reader_(line, step);
  if (part == LinePart::none) return;
  if (part == LinePart::begins) {
    close();
    step.line = number;
  }
  open_ = step;
}

void LineSource::close() {
  if (open_.has_time()) series_.add(open_);
  open_ = {};
}

StepSeries LineSource::take() {
  close();
  return std::move(series_);
}

std::span<const Dialect> log_dialects() {
  static constexpr std::array kDialects{
      Dialect{"nanotron", line_source<nanotron_line>},
      Dialect{"GPT-NeoX", line_source<neox_line>},
      Dialect{"Megatron-LM", line_source<megatron_line>},
      Dialect{"torchtitan", line_source<torchtitan_line>},
      Dialect{"nanochat", line_source<nanochat_line>},
      Dialect{"MaxText", line_source<maxtext_line>},
      Dialect{"NeMo", line_source<dllogger_line>},
      Dialect{"NeMo", line_source<nemo_line>},
      Dialect{"NeMo AutoModel", line_source<automodel_line>},
      Dialect{"OLMo-core", line_source<olmo_core_line>},
      Dialect{"OLMo", line_source<olmo_line>},
      Dialect{"llm-foundry", line_source<composer_line>},
      Dialect{"DeepSpeed", line_source<deepspeed_line>},
      Dialect{"NeMo", line_source<nemo_bar_line>},
      Dialect{"ms-swift", swift_source},
      Dialect{"Hugging Face Trainer", progress_bar_source},
      Dialect{"Hugging Face Trainer", run_time_source},
      // Tokens of the loss only: prompts and padding are not counted.
      Dialect{"torchtune", line_source<torchtune_line>},
      Dialect{"axolotl", line_source<trainer_rate_line>},
  };
  return kDialects;
}

}  // namespace meshwright::interop
