// SPDX-License-Identifier: Apache-2.0
// What a version of an inference engine is, as far as memory, steps and legality can tell: a file
// of configs/engines each.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/hardware/inference_rates.h"
#include "sim/serving/replica.h"

namespace meshwright {

// Which of waiting prompts and running sequences a step takes.
enum class SchedulerOrder {
  decode_first,   // all running sequences, then prompts up to the token budget (vLLM V1)
  prefill_first,  // a batch of prompts, or a batch of running sequences (SGLang)
  in_flight       // both in one step, up to the token budget (TensorRT-LLM)
};
inline constexpr std::array kSchedulerOrderNames{
    EnumName{SchedulerOrder::decode_first, "decode_first"},
    EnumName{SchedulerOrder::prefill_first, "prefill_first"},
    EnumName{SchedulerOrder::in_flight, "in_flight"}};
constexpr std::string_view name_of(SchedulerOrder v) { return name_in(kSchedulerOrderNames, v); }

// What happens when the cache is full, and so how much a new request needs to be admitted.
enum class FullCache {
  recompute_newest,  // admitted on its prompt; the newest is thrown out and computed again
  retract,           // admitted on its prompt and a share of its output; the newest waits again
  no_evict           // admitted on its prompt and all of its output
};
inline constexpr std::array kFullCacheNames{
    EnumName{FullCache::recompute_newest, "recompute_newest"},
    EnumName{FullCache::retract, "retract"}, EnumName{FullCache::no_evict, "no_evict"}};
constexpr std::string_view name_of(FullCache v) { return name_in(kFullCacheNames, v); }

// What memory_fraction is a share of.
enum class MemoryRule {
  of_device,      // cache = device * fraction - weights - activations - outside PyTorch (vLLM)
  static_memory,  // cache = device * fraction - weights; the rest is for activations (SGLang)
  of_free         // cache = (device - weights - activations) * fraction (TensorRT-LLM)
};
inline constexpr std::array kMemoryRuleNames{EnumName{MemoryRule::of_device, "of_device"},
                                             EnumName{MemoryRule::static_memory, "static_memory"},
                                             EnumName{MemoryRule::of_free, "of_free"}};
constexpr std::string_view name_of(MemoryRule v) { return name_in(kMemoryRuleNames, v); }

// Defaults that depend on the device's memory: the last row whose memory it has.
struct EngineTier {
  Bytes memory{};              // at least
  std::string architecture{};  // of the devices that it is for; empty: all
  std::string except_name{};   // devices with this in their name do not count
  int max_num_batched_tokens = 0;
  int max_num_seqs = 0;
  int graph_max_batch = 0;          // 0: as graphs say
  int graph_max_batch_grouped = 0;  // of replicas of four GPUs or more; 0: the same
  bool operator==(const EngineTier&) const = default;
};

// Sizes of captured CUDA graphs: from the first, in steps, up to and with the last.
struct GraphRange {
  int first = 1, last = 1, step = 1;
  bool operator==(const GraphRange&) const = default;
};

// What a fraction that follows from the device leaves free beside chunks, ranks and decode graphs
// (SGLang).
struct StaticReserve {
  int least_tokens = 0;                     // of a chunk
  Bytes drafts = gibibytes(2);              // with speculation
  std::vector<GraphRange> prompt_graphs{};  // sizes in tokens
  Bytes prompt_graph{};                     // each of them
  Bytes latent_prompt_graphs{};             // all of them with latent attention
  Bytes deep_ep{}, deep_ep_prompts{};       // DeepEP's buffers; more where prompts have graphs
  bool shrinks_for_images = false;          // a model with an image encoder gets a smaller share
  // AMD's aiter kernels take a share of the fraction, stated or not, beyond 8,192 positions.
  double aiter_share = 1.0;
  bool operator==(const StaticReserve&) const = default;
};

struct EngineMemory {
  MemoryRule rule = MemoryRule::of_device;
  double fraction = 0.9;  // 0: follows from the device (SGLang)
  // Peak of a pass: the larger of its layers, tokens * 2 B * (hidden_copies * h + ffn_copies * f),
  // and of sampling, sampling_copies of max_num_seqs rows of fp32 logits.
  double hidden_copies = 4.0, ffn_copies = 3.0, sampling_copies = 6.0;
  Bytes outside_alone = mebibytes(154);    // CUDA's context, a rank without others
  Bytes outside_grouped = mebibytes(614);  // and NCCL's buffers
  Bytes graphs{};                          // that CUDA graphs take of the cache's room
  int graphs_of = 0;        // sizes that these are of; others take their share. 0: any
  StaticReserve reserve{};  // where fraction is 0
  bool operator==(const EngineMemory&) const = default;
};

// Time that the GPU waits for the host. Kernels of decode steps run in CUDA graphs.
struct EngineHost {
  Seconds step{};                  // once a step
  Seconds sequence{};              // each running sequence
  Seconds prompt_token{};          // each token of a prompt in the step: hashes, inputs
  Seconds layer{};                 // each layer: gaps between the kernels of a graph
  Seconds expert_layer{};          // more for a layer with experts
  double launches_per_layer = 14;  // kernels without a graph
  bool overlapped = true;          // the next step's host work runs under this one's kernels
  Seconds request{};               // once a request: HTTP, first scheduling
  Seconds input_token{};           // each token of its prompt: tokenizer, transport
  bool operator==(const EngineHost&) const = default;
};

// How the cache of a prompt moves from a prefill to a decode pool.
struct EngineTransfer {
  Seconds handover = milliseconds(150);  // requests between the two schedulers, once a request
  Seconds descriptor = microseconds(2);  // each block of each layer
  bool joins_blocks = false;             // blocks that lie side by side take one descriptor
  BytesPerSecond rate{};                 // between two pools, all ranks together; 0: of the links
  bool operator==(const EngineTransfer&) const = default;
};

// Relative standard deviations of a request's first token under load, from errors of groups of
// published points that were left out (scripts/serving-spreads). Tail: percentiles from the 90th
// on.
struct FirstTokenSpread {
  double usual = 0.5, tail = 0.5;
  double disaggregated = 0.5, disaggregated_tail = 0.5;
  double disaggregated_rate = 0.2;  // of E2E and throughput behind two pools
  bool operator==(const FirstTokenSpread&) const = default;
};

// What was fitted in this file, on what, and how groups that the fit had not seen came out.
struct EngineFit {
  std::vector<std::string> sets{};
  std::vector<std::string> terms{};
  std::optional<double> held_out_error{};  // median |predicted / measured - 1| of a step
  bool operator==(const EngineFit&) const = default;
};

// What results of this engine on one machine taught (planner/serving/serving_learning.h). The
// factor is part of the factors and host times of the engine already.
struct EngineLearning {
  double factor = 1.0;        // of every step's time
  double spread_ratio = 1.0;  // of a step's spread, over the one that was not learnt
  double least_spread = 0.0;  // that repeats of one configuration showed
  int configurations = 0;     // that were measured; 0: nothing is learnt
  bool operator==(const EngineLearning&) const = default;
};

// How blocks of the cache are shared out among layers, and what a request reserves of them.
struct EngineCache {
  // Layers of a kind form groups that share blocks, as many in each as the rarest kind has; as the
  // most frequent one has if those are fewer than so many times the rarest. 0: no groups.
  double group_slack = 0.0;
  // Windows reserve W - 1 tokens and those of so many steps; a pipeline has one more for each
  // further stage, and only one is open where host and device take turns. 0: a window and a block.
  int steps_in_flight = 0;
  int state_pages = 1;  // pages of a state that a sequence reserves
  bool operator==(const EngineCache&) const = default;
};

struct Engine {
  std::string name{};  // of its file: "vllm-0.24"
  EngineKind kind = EngineKind::vllm;
  std::string version{};
  std::string released{};  // year and month
  std::string title{}, source{};
  // --tp counts all GPUs of a replica, attention's data ranks among them (SGLang, TensorRT-LLM).
  bool tensor_size_counts_data_ranks = false;

  SchedulerOrder order = SchedulerOrder::decode_first;
  bool mixes_prefill_and_decode = true;
  bool chunked_prefill = true;
  FullCache full_cache = FullCache::recompute_newest;
  bool prefix_caching = true;
  int max_partial_prefills = 1;

  int block_size = 16, latent_block_size = 16;  // tokens; latent: MLA
  int hopper_latent_block_size = 0;  // of 16-bit numbers without an indexer there; 0: the same
  EngineCache cache{};
  std::vector<EngineTier> tiers{};
  bool shares_chunk = false;    // attention's data ranks divide the tokens of a step
  int throughput_factor = 1;    // of both defaults in its throughput mode
  int sequences_of_length = 0;  // default sequences: so many times the requests of max_model_len
  int least_sequences = 0;      // that hold, at least these, at most the tier's. 0: the tier's
  int draft_sequences = 0;      // default with speculation; 0: the same
  std::vector<GraphRange> graphs{};
  int graph_max_batch = 512;
  int graph_sequences = 0;  // graphs end at so many times the sequences' rows; 0: they do not
  bool pads_to_graph = true;
  // Rows and columns of mxfp4 experts are padded to multiples of these.
  int mxfp4_hidden_multiple = 1, mxfp4_ffn_multiple = 1;
  ExpertExchange exchange = ExpertExchange::all_gather_reduce_scatter;
  bool custom_all_reduce = true;
  Bytes one_shot_at_4 = kibibytes(512), one_shot_at_8 = kibibytes(256);
  Bytes custom_all_reduce_max = mebibytes(8);

  EngineMemory memory{};
  EngineHost host{};
  EngineTransfer transfer{};
  std::vector<WeightFormat> weight_formats{};
  std::vector<KvCacheFormat> kv_cache_formats{};
  bool decode_context_parallel = false;
  double time_factor = 1.0;        // of all kernels, for rows of decodes
  double prefill_factor = 1.0;     // the same for rows of prompts
  double relative_spread = 0.15;   // of a step, what remains after the fit
  FirstTokenSpread first_token{};  // of a request's first token under load
  EngineFit fit{};
  EngineLearning learnt{};
  bool operator==(const Engine&) const = default;
};

// The engine whose steps take `factor` times as long: kernels and host. What a request costs once
// (its HTTP and tokenizer, the hand-over of its cache) stays.
Engine with_step_factor(Engine engine, double factor);

// Options with the engine's defaults on this device in place of what was not said.
struct Device;
ReplicaOptions with_defaults(ReplicaOptions options, const Engine& engine, const Device& device,
                             const Model& model);

// Rows that a decode step of so many runs: the next captured size, or as many as there are above
// the largest.
int next_graph_size(int rows, const std::vector<GraphRange>& graphs, int graph_max_batch);
// How many sizes up to the largest are captured.
int captured_sizes(const std::vector<GraphRange>& graphs, int graph_max_batch);
// Tokens of a step of one attention group.
int step_tokens(const Engine& engine, const ReplicaOptions& options);
// The largest captured size.
int graph_max_batch(const Engine& engine, const Device& device, const ReplicaOptions& options);

}  // namespace meshwright
