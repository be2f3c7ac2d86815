// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/log_dialect.h"

#include <array>
#include <utility>

namespace meshwright::interop {
namespace {

template <LineReader reader>
std::unique_ptr<StepSource> lines() {
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
      Dialect{"nanotron", lines<nanotron_line>},
      Dialect{"GPT-NeoX", lines<neox_line>},
      Dialect{"Megatron-LM", lines<megatron_line>},
      Dialect{"torchtitan", lines<torchtitan_line>},
      Dialect{"MaxText", lines<maxtext_line>},
      Dialect{"NeMo", lines<dllogger_line>},
      Dialect{"NeMo", lines<nemo_line>},
      Dialect{"NeMo AutoModel", lines<automodel_line>},
      Dialect{"OLMo-core", lines<olmo_core_line>},
      Dialect{"OLMo", lines<olmo_line>},
      Dialect{"llm-foundry", lines<composer_line>},
      Dialect{"DeepSpeed", lines<deepspeed_line>},
      Dialect{"NeMo", lines<nemo_bar_line>},
      Dialect{"ms-swift", swift_source},
      Dialect{"Hugging Face Trainer", progress_bar_source},
      Dialect{"Hugging Face Trainer", run_time_source},
      // Tokens of the loss only: prompts and padding are not counted.
      Dialect{"torchtune", lines<torchtune_line>},
      Dialect{"axolotl", lines<trainer_rate_line>},
  };
  return kDialects;
}

}  // namespace meshwright::interop
