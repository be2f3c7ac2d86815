// SPDX-License-Identifier: Apache-2.0
// The layouts of a search space, in a fixed order: parallel sizes (tensor, pipeline, context,
// expert sizes that multiply to the GPU count, and the rank order), pipeline settings of these
// (schedule, virtual size, split of the layers, micro-batch), and the settings of the switches:
// those of a stage, then those of the data-parallel side.
//
// Axes that the space leaves empty get defaults. Tensor: powers of two and divisors of a node, up
// to the attention heads. Pipeline: divisors of the GPU count up to the layers. Schedule: 1f1b, and
// interleaved. Virtual: divisors of a stage's layers. Split: even; where the layers do not divide,
// embedding and loss counted as layers if that divides, else a few lists of layers
// (balanced_layouts.h), or shorter first and last stages where lists are not wanted. Such lists
// also where a stage's layers divide into no 2 to 8 chunks, and everywhere if one makes the fastest
// layout 1 % faster (search_layouts.h). Context: 1; from 8,192 positions on
// powers of two that leave a rank 4,096. Expert: divisors of the experts; expert tensor: as tensor,
// and 1. Micro-batch: 1 to 8 and powers of two that divide a data rank's share of the batch.
// Sequence parallel: both. Recompute: none, selective (space_defaults.h), full (1, 2, 4 or all
// layers of a chunk). ZeRO: 0-3 where there are data ranks, sharded over all of them. Overlap: as
// Megatron-LM would run the layout (set_overlaps); of tensor-parallel communication both where it
// is legal, of experts' tokens both where the framework has it (space_defaults.h).
// Scatter-gather: off. Offload: off; of the optimizer and of modules on and off where that makes
// the fastest layout 1 % faster (search_layouts.h). Rank order: tp-cp-ep-dp-pp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/search/search.h"
#include "sim/layout/layout.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

// Their product is the GPU count (expert parallelism takes data ranks).
struct ParallelSizes {
  int tensor = 1, pipeline = 1, context = 1, expert = 1, data = 1;
  RankOrder rank_order = Layout{}.rank_order;
  Layout defaults{};  // the framework's
  // For the pipeline size, where the space names neither lists nor splits.
  std::vector<PipelineLayout> pipeline_layouts{};
  bool uneven = false;  // also shorter ends where the layers divide and there are no lists
};

// Throws InputError when the space holds a value that its field cannot have.
// `uneven`: with uneven stages also where the layers divide.
std::vector<ParallelSizes> parallel_sizes_of(const Scenario& scenario, const SearchSpace& space,
                                             bool uneven = false);

// Every pipeline setting of some parallel sizes; switches have their defaults.
std::vector<Layout> pipeline_settings(const Model& model, const Job& job, const SearchSpace& space,
                                      const ParallelSizes& sizes);

// A pipeline setting with every setting of what a stage computes and sends; the data-parallel side
// has its defaults.
std::vector<Layout> stage_settings(const SearchSpace& space, const Layout& pipeline);
// The same into a list that a search uses again and again.
void stage_settings(const SearchSpace& space, Layout pipeline, std::vector<Layout>& settings);
// The settings of the data-parallel side (ZeRO, shards, overlap, optimizer offload): they depend on
// the parallel sizes alone. Everything else is as in `sizes`.
std::vector<Layout> data_settings(const SearchSpace& space, Layout sizes);
// One of each put together.
Layout with_data_setting(Layout stage, const Layout& data);

// Joins every stage setting of a pipeline setting with every data setting.
std::vector<Layout> layouts_of(const SearchSpace& space, const Layout& pipeline);

// Sets overlap_grad_reduce, overlap_param_gather and overlap_p2p_comm as Megatron-LM would run the
// layout. Gradients overlap if there are data ranks, parameters if the optimizer is sharded, and
// messages between stages with the interleaved schedule (arguments.py). Overlaps that the framework
// lacks stay off, as do those of gradients that it reduces after the last backward.
void set_overlaps(Layout& layout, bool overlap_grad_reduce, const FeatureLimits& limits);

// A layout that somebody named, with the long names of the fields that were said.
struct StatedLayout {
  Layout layout{};
  std::vector<std::string> fields{};
  bool whole = false;  // every field was said
  [[nodiscard]] bool says(std::string_view field) const;
};
// The layout that was meant: each overlap switch that was not said is as a search of `space` sets
// it (set_overlaps). The data-parallel size must be final. Every command begins here, so that all
// price the same layout.
Layout with_default_overlaps(const StatedLayout& stated, const FeatureLimits& limits,
                             const SearchSpace& space = {});

}  // namespace meshwright::planner
