// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/hardware/device_noun.h"
#include "sim/model/parameters.h"

namespace meshwright::reports {
namespace {

struct Entry {
  std::string_view word;
  std::string_view meaning;
};

constexpr std::array kGlossary{
    Entry{"tp", "Tensor-parallel size: each layer's matrices are cut over this many GPUs."},
    Entry{"pp", "Pipeline-parallel size: the layers are cut into this many stages."},
    Entry{"vpp", "Virtual pipeline size: chunks of layers that one stage holds."},
    Entry{"dp", "Data-parallel size: copies of the model that work on different sequences."},
    Entry{"cp", "Context-parallel size: each sequence is cut over this many GPUs."},
    Entry{"ep", "Expert-parallel size: the experts are spread over this many GPUs."},
    Entry{"mbs", "Micro-batch size: sequences that go through the pipeline together."},
    Entry{"sp", "Sequence parallelism: norms and dropout are cut along the sequence."},
    Entry{"zero", "ZeRO stage: 1 shards the optimizer, 2 also gradients, 3 also weights."},
    Entry{"recompute", "Activations that are computed again in backward instead of being kept."},
    Entry{"pipeline bubble", "Time in which a stage waits for the others."},
    Entry{"MFU", kMfuConvention},
    Entry{"1σ", "One standard deviation: two of three values lie within it."},
    Entry{"rank", "One process with one GPU; also a layout's place in the ranking."},
    Entry{"Pareto", "Layouts beside which no other is both faster and smaller in memory."},
    Entry{"intra node, inter node",
          "Over the links inside a node; over the network between nodes."},
    Entry{"GEMM", "Product of two matrices: most of a transformer's work."},
    Entry{"payload", "The array handed to a collective, as nccl-tests counts its size."},
    Entry{"sent", "Bytes that one rank puts on its link for it."},
    Entry{"90 % interval",
          "Where nine of ten measured step times are expected, if the spreads of the terms are "
          "right and independent."},
    Entry{"measured", "Timed on this kind of machine, at this size."},
    Entry{"interpolated", "Between two sizes that were timed."},
    Entry{"fitted", "From a formula fitted to timings."},
    Entry{"extrapolated", "Beyond the largest or smallest size, or group, that was timed."},
    Entry{"datasheet", "From the vendor's numbers, with a customary efficiency."},
    Entry{"assumed", "A stated assumption, with no measurement or datasheet behind it."},
};

}  // namespace

Json glossary_section(const Cluster& cluster) {
  Json json = Json::array();
  for (const Entry& entry : kGlossary) {
    json.push_back({{"word", entry.word}, {"meaning", with_device_noun(entry.meaning, cluster)}});
  }
  return json;
}

Json assumptions_section(const planner::Plan& plan) {
  const Job& job = plan.job;
  Json json = Json::array();
  json.push_back(fmt::format("Model: {} B parameters in {} layers, hidden size {}.",
                             number_text(static_cast<double>(total_parameters(plan.model)) / 1e9),
                             plan.model.num_layers, plan.model.hidden_size));
  json.push_back(fmt::format("Batch: {} sequences of {} tokens per step.",
                             count_text(job.global_batch_size), count_text(job.seq_length)));
  json.push_back(
      fmt::format("Number formats: GEMM operands {}, gradients {}, {} with moments in {} and {}.",
                  name_of(job.precision), name_of(job.gradient_precision), name_of(job.optimizer),
                  name_of(job.exp_avg_precision), name_of(job.exp_avg_sq_precision)));
  json.push_back(fmt::format("Attention: {} kernel, {}.", name_of(job.attention_kernel),
                             job.causal ? "causal" : "not causal"));
  json.push_back(
      "The interval treats the errors of different terms as independent, and those inside a term "
      "as shared.");
  for (const std::string& note : plan.notes) json.push_back(note);
  return json;
}

}  // namespace meshwright::reports
