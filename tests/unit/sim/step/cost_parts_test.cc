// SPDX-License-Identifier: Apache-2.0
// What each part of the cost reads of a layout. A part that reads a field whose row in
// sim/layout/fields.h does not say so is remembered under too small a key: a wrong price.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sim/hardware/placement.h"
#include "sim/layout/short_name.h"
#include "sim/memory/model_state.h"
#include "sim/rules/rules.h"
#include "sim/step/cost_table.h"
#include "sim/step/data_parallel.h"
#include "sim/step/optimizer.h"
#include "sim/step/stage_memories.h"
#include "tests/unit/sim/layout/layout_draws.h"
#include "tests/unit/sim/step/a100_nodes.h"
#include "tests/unit/small_gpt.h"

namespace meshwright {
namespace {

using Numbers = std::vector<double>;

void append(Numbers& to, const Cost& cost) {
  to.insert(to.end(), {cost.time.value(), cost.relative_spread});
}
void append(Numbers& to, const CommunicationCost& cost) {
  for (const Cost& axis : {cost.tensor, cost.context, cost.expert}) append(to, axis);
}
void append(Numbers& to, const UnitCost& work) {
  for (const Cost& cost :
       {work.forward, work.backward_input, work.backward_weight, work.recompute}) {
    append(to, cost);
  }
  append(to, work.forward_communication);
  append(to, work.backward_communication);
  to.insert(to.end(), {work.forward_launches, work.backward_launches});
}
void append(Numbers& to, const LayerSizes& s) {
  for (const Bytes b : {s.hidden, s.hidden_input, s.dispatched, s.heads, s.scores, s.kept_mlp,
                        s.kept_other, s.again_mlp, s.again_other}) {
    to.push_back(b.value());
  }
}
void append(Numbers& to, const Stage& stage) {
  for (const Chunk& c : stage.chunks) {
    to.insert(to.end(),
              {double(c.first_layer), double(c.num_layers), double(c.embedding), double(c.head),
               double(c.mtp), double(c.hidden_states_in), double(c.hidden_states_out)});
  }
}

using Question = Scenario;

// The numbers of every part. `shape` is what the parts that take one are given.
using Parts = std::map<CostPart, Numbers>;

Numbers placement_of(const Question& q, const Layout& layout) {
  Numbers numbers;
  for (const Group group : {Group::tensor, Group::context, Group::expert, Group::expert_tensor}) {
    const Placement p = place(group, layout, q.cluster);
    for (const int n : {p.group_size, p.ranks_per_node, p.num_nodes, p.groups_per_node,
                        p.fewest_per_node, p.num_leaves, p.num_pods, p.in_island ? 1 : 0}) {
      numbers.push_back(n);
    }
  }
  return numbers;
}

Numbers shape_of(const PipelineShape& shape) {
  Numbers numbers{double(shape.num_stages), double(shape.chunks_per_stage)};
  numbers.insert(numbers.end(), shape.uneven_chunks.begin(), shape.uneven_chunks.end());
  for (const StageRun& run : shape.runs) {
    numbers.insert(numbers.end(), {double(run.first), double(run.count), double(run.kinds)});
    append(numbers, run.stage);
  }
  return numbers;
}

Numbers units_of(const Question& q, const Layout& layout) {
  Numbers numbers;
  CostTable table(q);
  const Units units = table.units(layout);
  const auto add = [&](const UnitCost* unit) { append(numbers, unit ? *unit : UnitCost{}); };
  for (std::size_t k = 0; k < kLayerKinds; ++k) {
    add(units.kept[k]);
    add(units.recomputed[k]);
  }
  for (const UnitCost* unit : {units.embedding, units.head, units.mtp}) add(unit);
  return numbers;
}

Numbers treatment_of(const std::vector<ChunkGroups>& groups) {
  Numbers numbers;
  for (const ChunkGroups& stage : groups) {
    for (const int size : stage.sizes) numbers.push_back(size);
    for (const ChunkGroup& group : stage.groups) {
      for (const LayerRun& run : group.layers) {
        numbers.insert(numbers.end(),
                       {double(run.layer.fully_recomputed), double(run.layer.keeps_checkpoint),
                        double(run.layer.offloaded), double(run.count)});
      }
    }
  }
  return numbers;
}

Numbers unit_bytes_of(const Question& q, const Layout& layout) {
  const UnitBytes units = unit_bytes(q.model, q.job, layout);
  Numbers numbers;
  for (const LayerBytes& layer : units.layers) {
    numbers.insert(numbers.end(),
                   {layer.kept.value(), layer.offloaded.value(), layer.weight_gradient.value()});
    append(numbers, layer.sizes);
    append(numbers, layer.recomputed);
  }
  for (const Bytes b : {units.input, units.gathered, units.embedding, units.head, units.mtp,
                        units.mtp_weight_gradient, units.logits.kept, units.logits.beside,
                        units.logits.gradient, units.logits.weight_gradient}) {
    numbers.push_back(b.value());
  }
  for (const auto& [kinds, b] : units.placeholders) numbers.push_back(b.value());
  return numbers;
}

Numbers memory_of(const Question& q, const Layout& layout, const PipelineShape& shape,
                  const std::vector<ChunkGroups>& groups) {
  CostTable table(q);
  Numbers numbers;
  for (const MovingPeak& peak : moving_peaks(table, layout, shape, groups)) {
    numbers.insert(numbers.end(), {peak.most.value(), double(peak.stage)});
  }
  numbers.push_back(offload_time(table, layout, groups).value());
  return numbers;
}

Numbers data_of(const Question& q, const Layout& layout, const PipelineShape& shape) {
  Numbers numbers;
  for (const StageRun& run : shape.runs) {
    const DataCost cost = data_cost(data_volume(q.model, q.job, layout, run.stage, run.first),
                                    q.job, layout, q.cluster);
    for (const Cost& part : {cost.reduce, cost.gather, cost.forward_gather, cost.backward_gather,
                             cost.recompute_gather, cost.alone, cost.after}) {
      append(numbers, part);
    }
    const StageParameters parameters = stage_parameters(q.model, q.job, layout, run.stage);
    append(numbers, optimizer_cost(parameters, q.job, layout, q.cluster));
    const StageMemory memory = static_memory(q.model, q.job, layout, run.stage);
    numbers.insert(numbers.end(), {memory.total().value(), memory.weights.value()});
  }
  const DataOverlap overlap = data_overlap(q.model, layout, q.cluster);
  numbers.insert(numbers.end(), {double(overlap.reduce), double(overlap.gather),
                                 double(overlap.forward_gather), double(overlap.backward_gather)});
  return numbers;
}

Parts parts_of(const Question& q, const Layout& layout) {
  const PipelineShape shape = pipeline_shape(q.model, layout);
  const std::vector<ChunkGroups> groups = stage_groups(q.model, layout, shape);
  Numbers send;
  const SendCost message = send_cost(q, layout);
  append(send, message.message);
  send.insert(send.end(), {double(message.hidden), double(message.tier)});
  return {{CostPart::placement, placement_of(q, layout)},
          {CostPart::shape, shape_of(shape)},
          {CostPart::units, units_of(q, layout)},
          {CostPart::treatment, treatment_of(groups)},
          {CostPart::unit_bytes, unit_bytes_of(q, layout)},
          {CostPart::memory, memory_of(q, layout, shape, groups)},
          {CostPart::send, send},
          {CostPart::data, data_of(q, layout, shape)}};
}

// Whether a field's row says that a part reads it, itself or through a part that it calls.
template <typename T>
bool may_change(const Field<T>& field, CostPart part) {
  if (field.reads(part)) return true;
  if (part == CostPart::units) return field.reads(CostPart::placement);
  if (part != CostPart::memory) return false;
  return field.reads(CostPart::unit_bytes) || field.reads(CostPart::treatment);
}

bool takes_a_shape(CostPart part) {
  return part == CostPart::treatment || part == CostPart::memory || part == CostPart::data;
}

constexpr std::array kPartNames{EnumName{CostPart::placement, "placement"},
                                EnumName{CostPart::shape, "shape"},
                                EnumName{CostPart::units, "units"},
                                EnumName{CostPart::treatment, "treatment"},
                                EnumName{CostPart::unit_bytes, "unit_bytes"},
                                EnumName{CostPart::memory, "memory"},
                                EnumName{CostPart::send, "send"},
                                EnumName{CostPart::data, "data"}};

class CostParts : public testing::Test {
 protected:
  // Compares the costs that change with those that a row lists, for each field of valid layouts.
  void compare(const Question& q, int layouts) {
    LayoutDraws draws;
    for (int found = 0; found < layouts;) {
      const Layout layout = draws.next();
      if (check_layout(q.model, q.job, layout, {})) continue;
      ++found;
      const Parts before = parts_of(q, layout);
      for_each_field([&](const auto& field) { change(q, layout, before, field); });
    }
  }
  template <typename T>
  void change(const Question& q, const Layout& layout, const Parts& before, const Field<T>& field) {
    for (const T value : some_values(field)) {
      Layout other = layout;
      other.*field.member = value;
      if (other == layout || check_layout(q.model, q.job, other, {})) continue;
      const Parts after = parts_of(q, other);
      const bool same_shape = before.at(CostPart::shape) == after.at(CostPart::shape);
      for (const auto& [part, numbers] : before) {
        if (numbers == after.at(part) || (takes_a_shape(part) && !same_shape)) continue;
        changed_.insert({std::string(name_in(kPartNames, part)), std::string(field.name)});
        EXPECT_TRUE(may_change(field, part))
            << name_in(kPartNames, part) << " reads " << field.name << ": " << short_name(layout)
            << " and " << short_name(other);
      }
    }
  }

  std::set<std::pair<std::string, std::string>> changed_;
};

Cluster cluster_of_nodes() {
  Cluster cluster = a100_nodes(64);
  cluster.device.overlap_slowdown = 0.1;
  return cluster;
}

Model dense_model() {
  Model model = small_gpt();
  model.num_layers = 16;
  return model;
}

Model expert_model() {
  Model model = dense_model();
  model.tied_embeddings = false;
  model.mtp_num_layers = 1;
  model.moe = MixtureOfExperts{};
  model.moe->num_moe_experts = 16;
  model.moe->moe_router_topk = 2;
  model.moe->moe_ffn_hidden_size = 512;
  model.mla = LatentAttention{};
  model.mla->q_lora_rank = 512;
  model.mla->kv_lora_rank = 256;
  model.mla->qk_head_dim = 64;
  model.mla->qk_pos_emb_head_dim = 32;
  model.mla->v_head_dim = 64;
  return model;
}

Job job_of(int global_batch_size) {
  Job job;
  job.seq_length = 1024;
  job.global_batch_size = global_batch_size;
  return job;
}

TEST_F(CostParts, ReadWhatTheTableOfFieldsSays) {
  Job unfused = job_of(512);
  unfused.attention_kernel = AttentionKernel::unfused;
  unfused.dropout = true;
  compare({dense_model(), cluster_of_nodes(), unfused}, 60);
  compare({expert_model(), cluster_of_nodes(), job_of(512)}, 60);
  // A part that a row lists without need makes keys differ where costs are equal.
  std::set<std::pair<std::string, std::string>> said;
  for_each_field([&](const auto& field) {
    for (const auto& part : kPartNames) {
      if (field.reads(part.value)) said.insert({std::string(part.name), std::string(field.name)});
    }
  });
  for (const auto& [part, name] : said) {
    if (changed_.count({part, name}) == 0)
      std::printf("not seen: %s %s\n", part.c_str(), name.c_str());
  }
}

}  // namespace
}  // namespace meshwright
