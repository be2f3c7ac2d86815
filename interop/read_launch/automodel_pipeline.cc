// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "interop/read_launch/automodel_parts.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// Layers a stage make the chunks of a rank, as many of each rank as `round` lets be.
void read_automodel_chunks(LaunchReading& r) {
  LaunchRecord& record = r.record();
  const Value* each = automodel_value(
      r, {"distributed.pipeline.layers_per_stage", "distributed_config.pipeline.layers_per_stage",
          "autopipeline.layers_per_stage"});
  const Value* round =
      automodel_value(r, {"distributed.pipeline.round_virtual_stages_to_pp_multiple",
                          "distributed_config.pipeline.round_virtual_stages_to_pp_multiple",
                          "autopipeline.round_virtual_stages_to_pp_multiple"});
  if (record.layout.schedule != PipelineSchedule::interleaved) return;
  record.layout.virtual_pipeline_parallel_size = 2;
  if (each == nullptr) return;
  record.layers_per_chunk = integer_of(*each, kParallelSizes);
  record.rounds_chunks_up = round != nullptr && word_of(*round) == "up";
  r.note("layers_per_stage", std::to_string(record.layers_per_chunk), *each);
}

}  // namespace

void read_automodel_pipeline(LaunchReading& r) {
  Layout& l = r.record().layout;
  if (l.pipeline_parallel_size == 1) return;
  const Value* schedule =
      automodel_value(r, {"distributed.pipeline.pp_schedule",
                          "distributed_config.pipeline.pp_schedule", "autopipeline.pp_schedule"});
  const std::string word = schedule == nullptr ? "1f1b" : lower_case(word_of(*schedule));
  if (word == "interleaved1f1b") {
    l.schedule = PipelineSchedule::interleaved;
  } else if (word == "gpipe") {
    l.schedule = PipelineSchedule::gpipe;
  } else if (word != "1f1b") {
    fail_at(*schedule, "no equal of this schedule is known here");
  }
  if (schedule != nullptr) r.note("schedule", word, *schedule);
  l.overlap_p2p_comm = l.schedule == PipelineSchedule::interleaved;
  read_automodel_chunks(r);
  for (const char* field : {"schedule", "virtual_pipeline_parallel_size", "overlap_p2p_comm"}) {
    r.settle_layout(field);
  }
}

}  // namespace meshwright::interop
