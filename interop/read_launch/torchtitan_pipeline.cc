// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "interop/read_launch/torchtitan_parts.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::array kTitanSchedules{EnumName{PipelineSchedule::one_f_one_b, "1F1B"},
                                     EnumName{PipelineSchedule::interleaved, "Interleaved1F1B"},
                                     EnumName{PipelineSchedule::gpipe, "GPipe"}};

// PyTorch's get_schedule_class compares without case.
void read_titan_schedule(const TitanReading& t) {
  Layout& l = t.layout();
  t.r.not_modelled_unless("parallelism.pipeline_parallel_schedule_csv");
  const Value* schedule =
      t.any({"parallelism.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule"});
  if (schedule == nullptr || l.pipeline_parallel_size == 1) return;
  const std::string word = word_of(*schedule);
  const auto* const known = std::find_if(
      kTitanSchedules.begin(), kTitanSchedules.end(),
      [&](const auto& entry) { return lower_case(std::string(entry.name)) == lower_case(word); });
  if (known == kTitanSchedules.end()) {
    fail_at(*schedule, "no equal of this schedule is known here",
            "read are 1F1B, Interleaved1F1B and GPipe");
  }
  l.schedule = known->value;
  t.r.note("schedule", word, *schedule);
}

// Embedding and head weigh as so many layers.
struct TitanEnds {
  int first = 1, last = 1;
  [[nodiscard]] int both() const { return first + last; }
};

void set_titan_list(const TitanReading& t, const std::vector<int>& layers, const std::string& why) {
  std::string text = "E";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (i > 0) text += "|";
    text.append(static_cast<std::size_t>(std::max(0, layers[i])), 't');
  }
  const auto list = read_pipeline_layout(text + "L");
  if (const auto* made = std::get_if<PipelineLayout>(&list)) {
    t.layout().pipeline_layout = *made;
    t.r.assume("pipeline_layout", std::string(made->text()), why);
  }
}

// Assigns layers to stages; the first stages get the remainder (distributed/pipeline_parallel.py,
// generate_llm_fqn_per_model_part).
void deal_out(const TitanReading& t, int stages, const TitanEnds& ends) {
  Layout& l = t.layout();
  const int weighed = t.num_layers + ends.both();
  if (weighed % stages == 0 && ends.first <= 1 && ends.last <= 1) {
    l.account_for_embedding_in_pipeline_split = ends.first == 1;
    l.account_for_loss_in_pipeline_split = ends.last == 1;
    return;
  }
  std::vector<int> layers;
  for (int i = 0; i < stages; ++i) {
    layers.push_back(weighed / stages + (i < weighed % stages ? 1 : 0) - (i == 0 ? ends.first : 0) -
                     (i == stages - 1 ? ends.last : 0));
  }
  set_titan_list(t, layers, "how torchtitan deals out layers, embedding and head");
}

// Tells whether a number of layers a stage divides the layers alone, and not with both ends.
bool is_older_split(const TitanReading& t, int each) {
  const int ranks = t.layout().pipeline_parallel_size;
  const bool new_divides = (t.num_layers + 2 + each - 1) / each % ranks == 0;
  return !new_divides && t.num_layers % each == 0 && t.num_layers / each % ranks == 0;
}

struct TitanStages {
  const Value* from = nullptr;
  std::vector<int> layers;
};

// "layers.8" begins the second stage at layer 8.
TitanStages titan_split_points(const TitanReading& t) {
  TitanStages stages;
  const Value* points = t.any({"parallelism.pipeline_parallel_split_points",
                               "experimental.pipeline_parallel_split_points"});
  if (points == nullptr || titan_list(*points).empty()) return stages;
  if (t.num_layers == 0)
    fail_at(*points, "needs the model's layers, which are not known", "name it with --model");
  stages.from = points;
  int begin = 0;
  for (const std::string& point : titan_list(*points)) {
    Value number = *points;
    number.words = {point.starts_with("layers.") ? point.substr(7) : point};
    const int at = integer_of(number, {begin, t.num_layers});
    stages.layers.push_back(at - begin);
    begin = at;
  }
  stages.layers.push_back(t.num_layers - begin);
  return stages;
}

// A list of the modules of each stage.
TitanStages titan_modules(const TitanReading& t) {
  TitanStages stages;
  constexpr std::string_view kKey = "parallelism.module_fqns_per_model_part.";
  for (const Value& value : t.r.values().all()) {
    if (!value.key.starts_with(kKey)) continue;
    stages.from = &value;
    stages.layers.push_back(static_cast<int>(
        std::count_if(value.words.begin(), value.words.end(),
                      [](const std::string& word) { return word.starts_with("layers."); })));
  }
  t.r.values().pass_over_below(kKey);
  return stages;
}

// Tells whether the file says which layers each stage has.
bool read_titan_stages(const TitanReading& t) {
  TitanStages stages = titan_split_points(t);
  if (stages.from == nullptr) stages = titan_modules(t);
  if (stages.from == nullptr) return false;
  Layout& l = t.layout();
  const int count = static_cast<int>(stages.layers.size());
  if (count % l.pipeline_parallel_size != 0) {
    fail_at(*stages.from,
            fmt::format("{} stages do not divide over {} ranks", count, l.pipeline_parallel_size));
  }
  l.virtual_pipeline_parallel_size = count / l.pipeline_parallel_size;
  t.r.note("virtual_pipeline_parallel_size", std::to_string(l.virtual_pipeline_parallel_size),
           *stages.from);
  set_titan_list(t, stages.layers, "the stages that the file lists");
  return true;
}

void read_titan_split(const TitanReading& t) {
  Layout& l = t.layout();
  TitanEnds ends;
  const bool says_first =
      t.r.integer(ends.first, "embedding_as_layers",
                  "parallelism.pipeline_parallel_first_stage_less_layers", {0, 1000});
  const bool says_last =
      t.r.integer(ends.last, "head_as_layers",
                  "parallelism.pipeline_parallel_last_stage_less_layers", {0, 1000});
  if (read_titan_stages(t)) return;
  const Value* layers = t.r.find("parallelism.pipeline_parallel_layers_per_stage");
  if (t.num_layers == 0) {
    if (layers != nullptr)
      fail_at(*layers, "needs the model's layers, which are not known", "name it with --model");
    return;
  }
  if (layers == nullptr) {
    return deal_out(t, l.pipeline_parallel_size * l.virtual_pipeline_parallel_size, ends);
  }
  const int each = integer_of(*layers, kParallelSizes);
  if (!says_first && !says_last && is_older_split(t, each)) {
    ends = {0, 0};
    t.r.assume("embedding_as_layers", "0",
               "an older release: with both ends counted as layers they would not divide");
  }
  const int stages = (t.num_layers + ends.both() + each - 1) / each;
  if (stages % l.pipeline_parallel_size != 0) {
    fail_at(*layers, fmt::format("{} layers and {} for embedding and head make {} stages, "
                                 "which {} ranks do not divide",
                                 t.num_layers, ends.both(), stages, l.pipeline_parallel_size));
  }
  l.virtual_pipeline_parallel_size = stages / l.pipeline_parallel_size;
  t.r.note("virtual_pipeline_parallel_size", std::to_string(l.virtual_pipeline_parallel_size),
           *layers);
  deal_out(t, stages, ends);
}

}  // namespace

void read_titan_pipeline(const TitanReading& t) {
  Layout& l = t.layout();
  read_titan_schedule(t);
  if (l.pipeline_parallel_size == 1) {
    t.r.values().pass_over_below("parallelism.pipeline_parallel_");
    t.r.values().pass_over_below("experimental.pipeline_parallel_");
    return;
  }
  if (l.schedule == PipelineSchedule::interleaved) l.virtual_pipeline_parallel_size = 2;
  l.overlap_p2p_comm = l.schedule == PipelineSchedule::interleaved;
  read_titan_split(t);
  t.settle({"schedule", "virtual_pipeline_parallel_size", "account_for_embedding_in_pipeline_split",
            "account_for_loss_in_pipeline_split", "pipeline_layout", "overlap_p2p_comm"});
}

}  // namespace meshwright::interop
