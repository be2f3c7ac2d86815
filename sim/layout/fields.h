// SPDX-License-Identifier: Apache-2.0
// The fields of a layout, one row each: its names and values, the search level that varies it, and
// the parts of the cost that read it. These rows define:
// - the JSON of a layout and its name in one line;
// - the search space with its options and JSON;
// - the keys under which costs are cached (layout_key.h);
// - every list of differences between two layouts.
//
// If a part reads a field that its row does not name, a cache returns a wrong cost.
// tests/unit/sim/step/cost_parts_test.cc changes every field and compares every part.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/layout/layout.h"
#include "sim/schedule/traits.h"

namespace meshwright {

// The parts that a layout's cost is put together from, by what they give. A part that calls another
// reads what that one reads, too; rows name what it reads itself.
enum class CostPart : std::uint8_t {
  placement,   // where the ranks of the tensor, context and expert groups sit
  shape,       // pipeline_shape(): which stages and chunks hold what
  units,       // CostTable::units(): seconds of a layer, the embedding, the head; reads placement
  treatment,   // stage_groups(): which layers of a stage run again or go to the host; reads shape
  unit_bytes,  // CostTable::unit_bytes(): what they keep
  memory,      // moving_peaks(), offload_time(): what comes and goes; reads unit_bytes, treatment
  send,        // send_cost(): one message between neighbouring stages
  data,        // data_cost(), optimizer_cost(), static_memory(): once a step, of a given stage
};

// Level of a search's nested settings to which a field belongs: the parallel sizes, the pipeline,
// the compute and messages of a stage, or the data-parallel side (planner/search/space.h).
enum class SearchLevel : std::uint8_t { parallel_sizes, pipeline, stage, data, not_searched };

// Values that a field may have, within its type.
template <typename T>
struct FieldValues {
  std::span<const EnumName<T>> names;
};
template <>
struct FieldValues<int> {
  int low = 1, high = 1'000'000;
};
template <>
struct FieldValues<bool> {};
template <>
struct FieldValues<PipelineLayout> {};
template <typename Module>
struct FieldValues<ModuleSet<Module>> {
  std::span<const EnumName<Module>> names;
};

// The orders that Megatron-LM's launcher expresses, the second with --use-tp-pp-dp-mapping: those
// that a search looks at. A layout may have any.
inline constexpr std::array kLauncherRankOrderNames{
    EnumName{Layout{}.rank_order, "tp-cp-ep-dp-pp"},
    EnumName{RankOrder{Axis::tensor, Axis::context, Axis::expert, Axis::pipeline, Axis::data},
             "tp-cp-ep-pp-dp"}};

// Values of a field that a search tries if the user names none, and whether named values count in
// this layout. A switch without an effect is not varied.
template <typename T>
struct Unasked {
  std::array<T, 4> values{};
  std::size_t count = 1;
  bool open = true;
};

template <typename T>
struct Field {
  using Type = T;
  T Layout::*member = nullptr;
  std::string_view name;             // in C++, JSON and reports
  std::string_view short_name;       // in a line and on the command line
  std::string_view documentation{};  // one sentence
  FieldValues<T> values{};
  unsigned read_by = 0;  // bit of each CostPart
  SearchLevel level = SearchLevel::not_searched;
  // Option and help of the field's axis in a search; empty: no axis of its own. Names come before
  // the help.
  std::string_view option, help;
  bool in_brief_name = true;  // false: nearly all layouts of a plan share it
  T(*implied)
  (const Layout&) = nullptr;  // value if unset, from the fields before it; none: default
  Unasked<T> (*unasked)(const Layout&) = nullptr;  // likewise; none: the default alone

  [[nodiscard]] constexpr bool reads(CostPart part) const {
    return (read_by >> static_cast<unsigned>(part) & 1U) != 0;
  }
  [[nodiscard]] constexpr T default_value(const Layout& layout) const {
    return implied == nullptr ? Layout{}.*member : implied(layout);
  }
  [[nodiscard]] constexpr Unasked<T> unasked_values(const Layout& layout) const {
    return unasked == nullptr ? Unasked<T>{{Layout{}.*member}} : unasked(layout);
  }

  // A row in the making.
  [[nodiscard]] constexpr Field about(std::string_view sentence) const {
    Field row = *this;
    row.documentation = sentence;
    return row;
  }
  [[nodiscard]] constexpr Field among(FieldValues<T> allowed) const {
    Field row = *this;
    row.values = allowed;
    return row;
  }
  template <typename... Parts>
  [[nodiscard]] constexpr Field read(Parts... parts) const {
    Field row = *this;
    row.read_by = (0U | ... | (1U << static_cast<unsigned>(parts)));
    return row;
  }
  [[nodiscard]] constexpr Field fixed_in(SearchLevel where) const {
    Field row = *this;
    row.level = where;
    return row;
  }
  [[nodiscard]] constexpr Field axis(SearchLevel where, std::string_view flag,
                                     std::string_view text) const {
    Field row = *this;
    row.level = where;
    row.option = flag;
    row.help = text;
    return row;
  }
  [[nodiscard]] constexpr Field searched_as(Unasked<T> (*look)(const Layout&)) const {
    Field row = *this;
    row.unasked = look;
    return row;
  }
  [[nodiscard]] constexpr Field shared_by_most() const {
    Field row = *this;
    row.in_brief_name = false;
    return row;
  }
  [[nodiscard]] constexpr Field implied_by(T (*value)(const Layout&)) const {
    Field row = *this;
    row.implied = value;
    return row;
  }
};

template <typename T>
constexpr Field<T> field(T Layout::*member, std::string_view name,
                         std::string_view short_name = "") {
  Field<T> row;
  row.member = member;
  row.name = name;
  row.short_name = short_name.empty() ? name : short_name;
  return row;
}

namespace layout_fields {

using enum CostPart;
using L = Layout;
constexpr FieldValues<int> kOrNone{.low = 0};
constexpr bool splits_tensors(const L& l) { return l.tensor_parallel_size > 1; }
constexpr bool has_stages(const L& l) { return l.pipeline_parallel_size > 1; }
constexpr bool sends_tokens(const L& l) { return l.expert_parallel_size > 1; }
constexpr bool reduces_gradients(const L& l) { return gradient_group_size(l) > 1; }
constexpr bool gathers_early(const L& l) { return l.overlap_grad_reduce && l.zero_stage > 0; }

// In the order in which a line says them.
inline constexpr std::tuple kRows{
    field(&L::tensor_parallel_size, "tensor_parallel_size", "tp")
        .about("Ranks that share each layer's matrices.")
        .read(placement, units, unit_bytes, memory, send, data)
        .axis(SearchLevel::parallel_sizes, "--tp",
              "Tensor-parallel sizes. Default: powers of two and divisors of a node"),
    field(&L::pipeline_parallel_size, "pipeline_parallel_size", "pp")
        .about("Pipeline stages.")
        .read(placement, shape, memory, send, data)
        .axis(SearchLevel::parallel_sizes, "--pp",
              "Pipeline-parallel sizes. Default: divisors of the GPU count"),
    field(&L::pipeline_layout, "pipeline_layout", "stages")
        .about("Layers of each stage and chunk in Megatron-LM's letters, for example "
               "Et*4|(t*4|)*14tmL.")
        .read(shape)
        .axis(SearchLevel::pipeline, "--pipeline-layout",
              "Layers of each stage and chunk in Megatron-LM's letters, for example "
              "\"Et*4|(t*4|)*14tmL\"; several lists are separated by blanks. Default: even stages; "
              "if layers do not divide or it is faster, a few lists balanced by time or memory"),
    field(&L::virtual_pipeline_parallel_size, "virtual_pipeline_parallel_size", "vpp")
        .about("Model chunks of a stage.")
        .read(shape)
        .axis(SearchLevel::pipeline, "--vpp",
              "Model chunks per stage. Default: divisors of a stage's layers, and those of "
              "--pipeline-layout")
        .implied_by([](const Layout& l) {
          return std::max(1, l.pipeline_layout.num_chunks() / l.pipeline_parallel_size);
        }),
    field(&L::data_parallel_size, "data_parallel_size", "dp")
        .about("Replicas that share the batch.")
        .read(placement, memory, send, data)
        .fixed_in(SearchLevel::parallel_sizes),
    field(&L::context_parallel_size, "context_parallel_size", "cp")
        .about("Ranks that share a sequence.")
        .read(placement, units, unit_bytes, memory, send, data)
        .axis(SearchLevel::parallel_sizes, "--cp",
              "Context-parallel sizes. Default: 1; from 8,192 tokens on, powers of two with "
              "at least 4,096 tokens per rank"),
    field(&L::expert_parallel_size, "expert_parallel_size", "ep")
        .about("Ranks that share the experts.")
        .read(placement, units, unit_bytes, memory, data)
        .axis(SearchLevel::parallel_sizes, "--ep",
              "Expert-parallel sizes. Default: divisors of the number of experts"),
    field(&L::expert_tensor_parallel_size, "expert_tensor_parallel_size", "etp")
        .about("Ranks that share one expert; 0: as tensor_parallel_size.")
        .among(kOrNone)
        .read(placement, units, unit_bytes, memory, data)
        .axis(SearchLevel::stage, "--etp",
              "Expert-tensor-parallel sizes. Default: the tensor-parallel size, and 1")
        .searched_as([](const L& l) {
          const bool both = splits_tensors(l) && l.expert_parallel_size > 1;
          return Unasked<int>{{0, 1}, both ? 2U : 1U};
        }),
    field(&L::micro_batch_size, "micro_batch_size", "mbs")
        .about("Sequences of a micro-batch.")
        .read(units, unit_bytes, memory, send, data)
        .axis(SearchLevel::pipeline, "--mbs",
              "Micro-batch sizes. Default: 1 to 8 and powers of two, as the batch divides"),
    field(&L::sequence_parallel, "sequence_parallel", "sp")
        .about("Norms and dropout are split over the tensor-parallel ranks.")
        .read(units, unit_bytes, memory, send, data)
        .axis(SearchLevel::stage, "--sp", "Sequence parallelism. Default: both")
        .searched_as([](const L& l) {
          return Unasked<bool>{{splits_tensors(l), false}, splits_tensors(l) ? 2U : 1U};
        }),
    field(&L::tensor_engine, "tensor_engine")
        .about("Software whose collectives run inside a layer.")
        .among({kTensorEngineNames})
        .read(units, unit_bytes, memory, data)
        .shared_by_most(),
    field(&L::schedule, "schedule")
        .about("Pipeline schedule; default: 1f1b, or interleaved with several chunks a stage.")
        .among({kPipelineScheduleNames})
        .read(shape, memory, data)
        .axis(SearchLevel::pipeline, "--schedule",
              "Pipeline schedules. Default: the framework's, or 1f1b and interleaved")
        .implied_by(
            [](const Layout& l) { return implied_schedule(l.virtual_pipeline_parallel_size); }),
    field(&L::pipeline_engine, "pipeline_engine")
        .about("Software that runs the schedule.")
        .among({kPipelineEngineNames})
        .read(shape, send),
    field(&L::num_layers_in_first_pipeline_stage, "num_layers_in_first_pipeline_stage", "first")
        .about("Layers of the first stage; 0: as the others.")
        .among(kOrNone)
        .read(shape)
        .fixed_in(SearchLevel::pipeline),
    field(&L::num_layers_in_last_pipeline_stage, "num_layers_in_last_pipeline_stage", "last")
        .about("Layers of the last stage; 0: as the others.")
        .among(kOrNone)
        .read(shape)
        .fixed_in(SearchLevel::pipeline),
    field(&L::account_for_embedding_in_pipeline_split, "account_for_embedding_in_pipeline_split")
        .about("The embedding counts as a layer when layers are split.")
        .read(shape)
        .fixed_in(SearchLevel::pipeline)
        .shared_by_most(),
    field(&L::account_for_loss_in_pipeline_split, "account_for_loss_in_pipeline_split")
        .about("The head and loss count as a layer when layers are split.")
        .read(shape)
        .fixed_in(SearchLevel::pipeline)
        .shared_by_most(),
    field(&L::cp_comm_type, "cp_comm_type")
        .about("How context-parallel ranks exchange keys and values.")
        .among({kContextParallelAlgorithmNames})
        .read(units, unit_bytes)
        .axis(SearchLevel::stage, "--cp-comm", "Context-parallel communication. Default: p2p")
        .searched_as([](const L& l) {
          return Unasked<ContextParallelAlgorithm>{
              {L{}.cp_comm_type}, 1, l.context_parallel_size > 1};
        }),
    field(&L::hierarchical_context_parallel_size, "hierarchical_context_parallel_size", "hcp")
        .about("Inner group of a2a+p2p; 0: none.")
        .among(kOrNone)
        .read(units, unit_bytes),
    field(&L::zero_stage, "zero_stage", "zero")
        .about("ZeRO: 1 shards the optimizer, 2 gradients too, 3 weights too.")
        .among({0, 3})
        .read(data)
        .axis(SearchLevel::data, "--zero", "ZeRO stages, 0 to 3. Default: all")
        .searched_as([](const L& l) {
          // To FSDP 1 is 2.
          if (l.fsdp_unit != FsdpUnit::none) {
            return Unasked<int>{{0, 2, 3}, reduces_gradients(l) ? 3U : 1U};
          }
          return Unasked<int>{{0, 1, 2, 3}, reduces_gradients(l) ? 4U : 1U};
        }),
    field(&L::zero_shard_size, "zero_shard_size", "shard")
        .about("Ranks that share one copy of sharded state; 0: all.")
        .among(kOrNone)
        .read(data)
        .axis(SearchLevel::data, "--zero-shard",
              "Ranks that share one copy of sharded state; 0: all data-parallel ranks. "
              "Default: 0")
        .searched_as([](const L& l) {
          return Unasked<int>{{0}, 1, reduces_gradients(l) && l.zero_stage > 0};
        }),
    field(&L::all_reduce_gradients, "all_reduce_gradients")
        .about("Gradients are all-reduced even where the optimizer is sharded.")
        .read(data)
        .shared_by_most(),
    field(&L::fsdp_unit, "fsdp_unit", "fsdp")
        .about("What FSDP gathers at once; none: no FSDP.")
        .among({kFsdpUnitNames})
        .read(data),
    field(&L::fsdp_vocabulary, "fsdp_vocabulary")
        .about("How FSDP holds embedding and head: in the root, or as units that it may free.")
        .among({kFsdpVocabularyNames})
        .read(data)
        .shared_by_most(),
    field(&L::defer_grad_reduce, "defer_grad_reduce")
        .about("Gradients are reduced after the last micro-batch alone.")
        .read(data)
        .shared_by_most(),
    field(&L::recompute_granularity, "recompute_granularity", "recompute")
        .about("What runs again in the backward pass.")
        .among({kRecomputeGranularityNames})
        .read(units, treatment, unit_bytes, memory)
        .axis(SearchLevel::stage, "--recompute", "Recompute granularities. Default: all")
        .searched_as([](const L& /*layout*/) {
          using enum RecomputeGranularity;
          return Unasked<RecomputeGranularity>{{none, selective, full}, 3};
        }),
    field(&L::recompute_num_layers, "recompute_num_layers")
        .about("Layers of a stage that full recompute covers; 0: all.")
        .among(kOrNone)
        .read(treatment, memory)
        .axis(SearchLevel::stage, "--recompute-layers",
              "Layers of a stage that full recompute covers; 0: all. Default: 0, and 1, 2 "
              "and 4 of each chunk")
        .searched_as([](const L& l) {
          const bool full = l.recompute_granularity == RecomputeGranularity::full;
          const int chunks = l.virtual_pipeline_parallel_size;
          return Unasked<int>{{0, chunks, 2 * chunks, 4 * chunks}, full ? 4U : 1U, full};
        }),
    field(&L::recompute_method, "recompute_method")
        .about("Which layers full recompute covers, and in which groups.")
        .among({kRecomputeMethodNames})
        .read(units, treatment, unit_bytes, memory),
    field(&L::recompute_modules, "recompute_modules")
        .about("Modules that selective recompute runs again.")
        .among({kRecomputeModuleNames})
        .read(units, unit_bytes)
        .axis(SearchLevel::stage, "--recompute-modules",
              "Sets of modules that selective recompute repeats, for example "
              "mlp,layernorm+moe_act. Default: those in recipes of such models")
        .searched_as([](const L& l) {
          const bool open = l.recompute_granularity == RecomputeGranularity::selective;
          return Unasked<RecomputeModules>{{L{}.recompute_modules}, 1, open};
        }),
    field(&L::scatter_gather_p2p, "scatter_gather_p2p")
        .about("Tensor-parallel ranks send a part each between stages.")
        .read(send)
        .axis(SearchLevel::stage, "--scatter-gather",
              "Scatter-gather messages between stages. Default: false")
        .searched_as([](const L& l) {
          return Unasked<bool>{{false}, 1, splits_tensors(l) && has_stages(l)};
        }),
    field(&L::overlap_grad_reduce, "overlap_grad_reduce")
        .about("Gradients are reduced during the backward pass.")
        .read(data)
        .axis(SearchLevel::data, "--overlap-grad-reduce",
              "Overlap the gradient reduction with the backward pass. Default: true")
        .searched_as([](const L& l) {
          return Unasked<bool>{
              {reduces_gradients(l) && !reduces_after_backward(l)}, 1, reduces_gradients(l)};
        })
        .shared_by_most(),
    field(&L::overlap_param_gather, "overlap_param_gather")
        .about("Weights are gathered during the forward pass.")
        .read(data)
        .axis(SearchLevel::data, "--overlap-param-gather",
              "Overlap the weight gather with the forward pass. Default: true if gradients "
              "overlap and the optimizer is sharded")
        .searched_as([](const L& l) {
          return Unasked<bool>{{gathers_early(l)}, 1, gathers_early(l)};
        })
        .shared_by_most(),
    field(&L::tp_comm_overlap, "tp_comm_overlap")
        .about("Tensor-parallel collectives overlap with GEMMs.")
        .read(units)
        .axis(SearchLevel::stage, "--tp-overlap",
              "Overlap tensor-parallel communication (userbuffers). Default: both if "
              "sequence parallel")
        .searched_as([](const L& l) {
          return Unasked<bool>{
              {l.sequence_parallel, false}, l.sequence_parallel ? 2U : 1U, splits_tensors(l)};
        }),
    field(&L::overlap_p2p_comm, "overlap_p2p_comm")
        .about("Sends between stages overlap with compute.")
        .read(memory, send)
        .axis(SearchLevel::stage, "--overlap-p2p",
              "Overlap messages between stages. Default: true if interleaved")
        .searched_as([](const L& l) {
          const ScheduleTraits& schedule = traits(l.schedule);
          return Unasked<bool>{
              {schedule.overlaps_sends}, 1, has_stages(l) && schedule.may_overlap_sends};
        })
        .shared_by_most(),
    field(&L::moe_token_dispatcher_type, "moe_token_dispatcher_type", "dispatcher")
        .about("How tokens reach their experts.")
        .among({kMoeTokenDispatcherTypeNames})
        .read(units, memory)
        .axis(SearchLevel::stage, "--moe-dispatcher",
              "Token dispatchers of experts. Default: the framework's, or alltoall")
        .searched_as([](const L& l) {
          return Unasked<MoeTokenDispatcherType>{
              {sends_tokens(l) ? l.moe_token_dispatcher_type : L{}.moe_token_dispatcher_type},
              1,
              sends_tokens(l)};
        })
        .shared_by_most(),
    field(&L::moe_flex_dispatcher_backend, "moe_flex_dispatcher_backend", "backend")
        .about("Library of the flex dispatcher.")
        .among({kMoeFlexDispatcherBackendNames})
        .read(units)
        .axis(SearchLevel::stage, "--moe-flex-backend",
              "Libraries of the flex dispatcher. Default: the framework's, or deepep")
        .searched_as([](const L& l) {
          return Unasked<MoeFlexDispatcherBackend>{
              {sends_tokens(l) ? l.moe_flex_dispatcher_backend : L{}.moe_flex_dispatcher_backend},
              1,
              sends_tokens(l) && l.moe_token_dispatcher_type == MoeTokenDispatcherType::flex};
        })
        .shared_by_most(),
    field(&L::overlap_moe_expert_parallel_comm, "overlap_moe_expert_parallel_comm", "ep_overlap")
        .about("Tokens of one micro-batch travel while another is computed.")
        .read(units, memory)
        .axis(SearchLevel::stage, "--ep-overlap",
              "Overlap the expert communication of one micro-batch with the compute of "
              "another. Default: both if the framework supports it")
        .searched_as([](const L& l) {
          const bool pairs = sends_tokens(l) && traits(l.schedule).pairs_passes;
          return Unasked<bool>{{l.overlap_moe_expert_parallel_comm || pairs}, 1, sends_tokens(l)};
        })
        .implied_by([](const L& l) { return sends_tokens(l) && traits(l.schedule).pairs_passes; }),
    field(&L::delay_wgrad_compute, "delay_wgrad_compute")
        .about("Weight gradients are computed later, while tokens travel.")
        .read(units),
    field(&L::moe_shared_expert_overlap, "moe_shared_expert_overlap")
        .about("The shared expert runs while tokens travel.")
        .read(units),
    field(&L::cuda_graph_impl, "cuda_graph_impl", "graphs")
        .about("What runs as CUDA graphs.")
        .among({kCudaGraphImplNames})
        .read(units, unit_bytes)
        .axis(SearchLevel::stage, "--cuda-graphs", "CUDA graphs. Default: none")
        .searched_as([](const L& l) {
          return Unasked<CudaGraphImpl>{{l.cuda_graph_impl}, 1, true};
        }),
    field(&L::cuda_graph_modules, "cuda_graph_modules")
        .about("Modules of a layer that are captured.")
        .among({kCudaGraphModulesNames})
        .read(units),
    field(&L::optimizer_offload, "optimizer_offload")
        .about("Optimizer state and step are on the host.")
        .read(data)
        .axis(SearchLevel::data, "--optimizer-offload",
              "Offload optimizer states to the host. Default: false, and true if it is faster"),
    field(&L::cpu_offloading_num_layers, "cpu_offloading_num_layers", "offload")
        .about("Layers of a stage whose activations go to the host.")
        .among(kOrNone)
        .read(treatment, memory)
        .axis(SearchLevel::stage, "--offload-layers",
              "Layers of a stage whose activations are offloaded to the host. Default: 0"),
    field(&L::offload_modules, "offload_modules")
        .about("Modules whose inputs go to the host.")
        .among({kOffloadModuleNames})
        .read(unit_bytes, memory)
        .axis(SearchLevel::stage, "--offload-modules",
              "Sets of modules whose inputs are offloaded to the host, for example "
              "none,expert_fc1+moe_act. Default: none, and a few if they are faster"),
    field(&L::rank_order, "rank_order", "order")
        .about("Order of the axes over ranks, innermost first, such as tp-cp-ep-dp-pp.")
        .among({kLauncherRankOrderNames})
        .read(placement, send, data)
        .axis(SearchLevel::parallel_sizes, "--rank-order",
              "Order of ranks, the fastest axis first. Default: the first value; the second "
              "is Megatron-LM's --use-tp-pp-dp-mapping")};

}  // namespace layout_fields

inline constexpr const auto& kLayoutFields = layout_fields::kRows;
inline constexpr std::size_t kNumLayoutFields =
    std::tuple_size_v<std::remove_cvref_t<decltype(kLayoutFields)>>;

template <typename Visit>
constexpr void for_each_field(Visit visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, kLayoutFields);
}

std::string name_of(const RankOrder& order);  // "tp-cp-ep-dp-pp"

// A value as a line says it: "8", "on", "selective", "core_attn+mlp", "tp-cp-ep-dp-pp".
std::string value_text(const Field<int>& field, int value);
std::string value_text(const Field<bool>& field, bool value);
std::string value_text(const Field<RankOrder>& field, const RankOrder& value);
std::string value_text(const Field<PipelineLayout>& field, PipelineLayout value);
template <typename Enum>
std::string value_text(const Field<Enum>& field, Enum value) {
  for (const auto& entry : field.values.names) {
    if (entry.value == value) return std::string(entry.name);
  }
  return "?";
}

// The words between plus signs.
std::vector<std::string> joined_words(std::string_view text);
// "none" where there are none.
template <typename Module>
std::string value_text(const Field<ModuleSet<Module>>& field, ModuleSet<Module> modules) {
  std::string text;
  for (const auto& entry : field.values.names) {
    if (modules.has(entry.value)) text.append(text.empty() ? "" : "+").append(entry.name);
  }
  return text.empty() ? "none" : text;
}
// The modules that value_text names so; nothing where one is unknown. A dense or an expert MLP's
// activation was mlp_act once.
template <typename Module>
std::optional<ModuleSet<Module>> modules_named(const Field<ModuleSet<Module>>& field,
                                               std::string_view text) {
  unsigned modules = 0;
  if (text == "none") return ModuleSet<Module>{};
  for (const std::string& word : joined_words(text)) {
    const std::string_view name = word == "mlp_act" ? "moe_act" : std::string_view(word);
    const auto known = modules;
    for (const auto& entry : field.values.names) {
      if (entry.name == name) modules |= entry.value;
    }
    if (modules == known) return std::nullopt;
  }
  return ModuleSet<Module>{static_cast<std::uint8_t>(modules)};
}

// Fields in which two layouts differ.
struct FieldDifference {
  std::string_view name, short_name;
  unsigned read_by = 0;  // as Field's
  std::string a, b;
};
std::vector<FieldDifference> differences(const Layout& a, const Layout& b);

}  // namespace meshwright
