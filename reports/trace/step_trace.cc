// SPDX-License-Identifier: Apache-2.0
#include "reports/trace/step_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/text/text.h"
#include "sim/base/error.h"
#include "sim/layout/short_name.h"
#include "sim/memory/model_state.h"
#include "sim/schedule/schedule.h"
#include "sim/step/composition.h"
#include "sim/step/cost_table.h"
#include "sim/step/data_parallel.h"
#include "sim/step/optimizer.h"
#include "sim/step/pipeline.h"

namespace meshwright::reports {
namespace {

constexpr std::size_t kMostInstructions = 200'000;  // about 100 MB of text

constexpr std::array<std::string_view, 5> kTracks{
    "compute", "tensor, context, expert communication", "messages to other stages",
    "data-parallel communication", "host"};

// Waits of a stage's step in addition to its chunks, as evaluate() adds them.
struct StageExtras {
  DataCost data;
  ExposedData exposed;
  Seconds forward_wait, backward_wait;  // of one micro-batch and chunk: ZeRO-3's parameters
  Seconds offload;                      // likewise
  Seconds optimizer;
};

StageExtras extras_of(const CostTable& table, const Estimate& estimate, const Pipeline& pipeline,
                      std::size_t stage) {
  const Layout& layout = estimate.layout;
  const Cluster& cluster = table.cluster();
  const StageCost& cost = pipeline.costs[stage];
  const double m = micro_batches_of_chunk(table.job(), layout);
  const auto chunks = static_cast<double>(pipeline.stages[stage].chunks.size());
  StageExtras extras;
  extras.data = data_cost(estimate.volume.stages[stage], table.job(), layout, cluster);
  wait_for_last_bucket(extras.data, last_bucket_of(table, layout, pipeline.stages[stage]));
  const Tier tier = place(Group::data, layout, cluster).tier();
  const Seconds sends = pipeline.sends.on(tier);
  // The ledger holds what is gathered for layers that run again only where some do.
  extras.exposed =
      exposed_data(extras.data, data_overlap(table.model(), layout, cluster),
                   cost.forward_window(tier, sends), cost.backward_window(tier, sends), m, true);
  extras.forward_wait = extras.exposed.forward_gather / (m * chunks);
  extras.backward_wait = (extras.exposed.backward_gather + extras.exposed.alone) / (m * chunks);
  extras.offload =
      estimate.terms[static_cast<std::size_t>(TermKind::offload)].cost.time / (m * chunks);
  extras.optimizer =
      optimizer_cost(trained_parameters(table.model(), table.job(), layout, pipeline.stages[stage]),
                     table.job(), layout, cluster)
          .time;
  return extras;
}

// A piece of an instruction; the pieces follow each other.
struct Segment {
  StepTrack track = kCompute;
  std::string_view name;
  Seconds time;
};
using Segments = std::vector<Segment>;

void add_communication(Segments& segments, const CommunicationCost& cost) {
  segments.push_back({kModelCommunication, "tensor communication", cost.tensor.time});
  segments.push_back({kModelCommunication, "context communication", cost.context.time});
  segments.push_back({kModelCommunication, "expert communication", cost.expert.time});
}

// They add up to what the schedule's simulation takes for the instruction.
Segments segments_of(Pass pass, const ChunkCost& cost, const StageExtras& extras) {
  if (pass == Pass::backward_weight) {
    return {{kCompute, "backward weight", cost.backward_weight.time}};
  }
  Segments segments;
  if (pass == Pass::forward) {
    segments.push_back({kDataParallel, "wait for parameters", extras.forward_wait});
    segments.push_back({kCompute, "forward", cost.forward.time});
    add_communication(segments, cost.forward_communication);
  } else {
    const bool whole = pass == Pass::backward;
    const Seconds weight = whole ? cost.backward_weight.time : seconds(0);
    segments.push_back({kDataParallel, "wait for parameters", extras.backward_wait});
    segments.push_back({kCompute, "recompute", cost.recompute.time});
    segments.push_back(
        {kCompute, whole ? "backward" : "backward input", cost.backward_input.time + weight});
    add_communication(segments, cost.backward_communication);
    segments.push_back({kHost, "activation offload", extras.offload});
  }
  segments.push_back(
      {kHost, "host launches", pass == Pass::forward ? cost.forward_host : cost.backward_host});
  return segments;
}

class StepTracer {
 public:
  StepTracer(const Scenario& scenario, const Estimate& estimate)
      : estimate_(estimate),
        layout_(estimate.layout),
        sizes_(pipeline_sizes(layout_, scenario.job.global_batch_size)),
        table_(scenario),
        pipeline_(pipeline_of(table_, layout_)),
        num_chunks_(static_cast<int>(pipeline_.stages.front().chunks.size())),
        places_(chunk_places(layout_.schedule, layout_.pipeline_parallel_size, num_chunks_)) {}

  Trace run() {
    add_waits();
    const auto programs = pipeline_programs(layout_.schedule, sizes_);
    refuse_too_many(programs);
    const Timeline timeline = simulate(layout_.schedule, programs, pipeline_.times, true);
    for (const StageExtras& extras : extras_) start_ = std::max(start_, extras.exposed.gather);
    std::size_t next = 0;
    for (std::size_t s = 0; s < pipeline_.stages.size(); ++s) {
      open_stage(s);
      for (; next < timeline.events.size() && stage_of(timeline.events[next]) == s; ++next) {
        draw_instruction(s, timeline.events[next]);
      }
      close_stage(s);
    }
    add_facts();
    return std::move(trace_);
  }

 private:
  static std::size_t stage_of(const meshwright::TimelineEvent& event) {
    return static_cast<std::size_t>(event.stage);
  }

  static void refuse_too_many(const std::vector<StageProgram>& programs) {
    std::size_t count = 0;
    for (const StageProgram& program : programs) count += program.size();
    if (count <= kMostInstructions) return;
    throw InputError("--trace", "",
                     fmt::format("the step has {} instructions; a trace holds at most {}",
                                 count_text(static_cast<std::int64_t>(count)),
                                 count_text(static_cast<std::int64_t>(kMostInstructions))),
                     "take a larger micro-batch, fewer chunks per stage or a smaller batch");
  }

  // Waits inside the pipeline are part of its times.
  void add_waits() {
    for (std::size_t s = 0; s < pipeline_.stages.size(); ++s) {
      extras_.push_back(extras_of(table_, estimate_, pipeline_, s));
      for (PassTimes& times : pipeline_.times.stages[s]) {
        times.forward += extras_[s].forward_wait;
        times.backward_input += extras_[s].backward_wait + extras_[s].offload;
      }
    }
    if (layout_.pipeline_parallel_size == 1) return;
    message_ = send_cost(table_.scenario(), layout_).message.time;
  }

  void draw(std::size_t s, StepTrack track, std::string name, Seconds begin, Seconds end,
            TraceNumbers numbers = {}) {
    if (end <= begin) return;
    const bool computes = track == kCompute;
    const std::string_view category = computes         ? "compute"
                                      : track == kHost ? "host"
                                                       : "communication";
    trace_.slices.push_back({static_cast<int>(s), static_cast<int>(track), std::move(name),
                             std::string(category), begin, end, std::move(numbers)});
  }

  void open_stage(std::size_t s) {
    trace_.processes.push_back({static_cast<int>(s),
                                fmt::format("pipeline stage {}: first rank of replica 0", s),
                                {kTracks.begin(), kTracks.end()}});
    at_ = start_;
    message_end_ = seconds(0);
    const Stage& stage = pipeline_.stages[s];
    held_.assign(stage.chunks.size(), {});
    const UnitBytes& units = table_.unit_bytes(layout_);
    chunks_ = chunk_memories(units, layout_, chunk_groups(table_.model(), layout_, stage));
    const StageMemory& memory = estimate_.memory[s];
    lasting_ = memory.total() - memory.activations - memory.recompute_workspace - memory.logits -
               memory.operator_workspace + units.placeholders_of(kinds_of(table_.model(), stage));
    count_memory(s, seconds(0), {});
    draw(s, kDataParallel, "parameter all-gather", seconds(0), extras_[s].data.gather.time);
  }

  void draw_instruction(std::size_t s, const meshwright::TimelineEvent& event) {
    const Instruction& i = event.instruction;
    const ChunkCost& cost = pipeline_.chunks[s][static_cast<std::size_t>(i.chunk)];
    // Two instructions that run together (DualPipe) are drawn one after the other.
    at_ = std::max(at_, start_ + event.begin);
    begin_pass(held_, i);
    count_memory(s, at_, memory_at({{i.pass, i.chunk}, std::nullopt, held_}, chunks_));
    const TraceNumbers numbers{{"micro_batch", i.micro_batch}, {"chunk", i.chunk}};
    for (const Segment& segment : segments_of(i.pass, cost, extras_[s])) {
      const std::string name = segment.track == kHost
                                   ? std::string(segment.name)
                                   : fmt::format("{} {}", segment.name, i.micro_batch);
      draw(s, segment.track, name, at_, at_ + segment.time, numbers);
      at_ += segment.time;
    }
    end_pass(held_, i);
    count_memory(s, at_, held_memory(held_, chunks_));
    draw_message(s, i);
  }

  // To the stage that consumes the result; a message waits for the one before it.
  void draw_message(std::size_t s, const Instruction& i) {
    if (i.pass == Pass::backward_weight) return;
    const ChunkPlace& place =
        places_[s * static_cast<std::size_t>(num_chunks_) + static_cast<std::size_t>(i.chunk)];
    const int receiver = i.pass == Pass::forward ? place.after : place.before;
    if (receiver == kNoStage || receiver == static_cast<int>(s)) return;
    const Seconds begin = std::max(at_, message_end_);
    message_end_ = begin + message_;
    draw(s, kPipelineMessages,
         fmt::format("{} {} to stage {}", i.pass == Pass::forward ? "activations" : "gradients",
                     i.micro_batch, receiver),
         begin, message_end_);
  }

  // `changing`: activations and logits that are held, with what an instruction needs while it runs.
  void count_memory(std::size_t s, Seconds time, const StageMemory& changing) {
    trace_.counters.push_back(
        {static_cast<int>(s),
         "memory, GiB",
         time,
         {{"activations", in_gibibytes(changing.total())}, {"all else", in_gibibytes(lasting_)}}});
  }

  // Gradients are reduced beneath the last backward; what sticks out is waited for.
  void close_stage(std::size_t s) {
    const StageExtras& extras = extras_[s];
    const Seconds reduced = at_ + extras.exposed.reduce;
    draw(s, kDataParallel, "gradient reduction",
         std::max(reduced - extras.data.reduce.time, extras.data.gather.time), reduced);
    const Seconds summed = reduced + extras.exposed.after;
    draw(s, kDataParallel, "last bucket, once a step", reduced, summed);
    const Seconds stepped = summed + extras.optimizer;
    draw(s, kCompute, "optimizer", summed, stepped);
    const Seconds end = stepped + table_.cluster().framework.step_overhead;
    draw(s, kHost, "host, once a step", stepped, end);
    end_ = std::max(end_, end);
  }

  void add_facts() {
    trace_.facts = {
        {"schema", std::string(kTraceSchema)},
        {"model", table_.model().name},
        {"cluster", table_.cluster().name},
        {"layout", short_name(layout_)},
        {"predicted_step_time", seconds_text(estimate_.step_time)},
        {"drawn_step_time", seconds_text(end_)},
        {"how_to_read",
         "One process a pipeline stage. A chunk's communication is drawn in one piece after its "
         "compute; a real step spreads it between the operators."}};
  }

  const Estimate& estimate_;
  const Layout& layout_;
  PipelineSizes sizes_;
  CostTable table_;
  Pipeline pipeline_;
  int num_chunks_;
  std::vector<ChunkPlace> places_;
  std::vector<StageExtras> extras_;
  Seconds message_;  // one, with nothing beside it
  Seconds start_;    // of the pipeline: what of the parameters' gather is waited for
  Seconds end_;
  // Times in the stage that is being drawn.
  Seconds at_, message_end_;
  std::vector<HeldMicroBatches> held_;
  std::vector<ChunkMemory> chunks_;
  Bytes lasting_;  // memory that does not change during the step
  Trace trace_;
};

}  // namespace

Trace step_trace(const Scenario& scenario, const Estimate& estimate) {
  return StepTracer(scenario, estimate).run();
}

}  // namespace meshwright::reports
