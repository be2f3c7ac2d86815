// SPDX-License-Identifier: Apache-2.0
// What vLLM 0.32.0 and SGLang 0.5.23 decide and reserve, asked of their own code without a GPU, in
// the tables of tests/unit/sim/serving/facts. Columns are the names of our fields.
//   vllm_cache       40 GiB of cache on an H100: get_kv_cache_configs, get_kv_cache_capacity.
//                    Falcon with an fp8 cache is left out: its class stores 16 bits all the same
//   vllm_defaults    EngineArgs.create_engine_config of Llama-3.1-8B for an API server
//   vllm_weights     parameters of tensor rank 0 on an H100, as created
//   sglang_defaults  ServerArgs.resolve_once; attention: plain, latent, or latent behind an indexer
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <vector>

#include "sim/serving/cache_groups.h"
#include "tests/unit/llama_model.h"
#include "tests/unit/sim/serving/shipped.h"

namespace meshwright {
namespace {

struct Fact {
  std::string line;
  std::map<std::string, std::string> cells;
  const std::string& operator[](const std::string& column) const { return cells.at(column); }
  double number(const std::string& column) const { return std::stod(cells.at(column)); }
  int whole(const std::string& column) const { return std::stoi(cells.at(column)); }
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

std::vector<Fact> facts(const char* table) {
  std::ifstream stream(std::filesystem::path(MESHWRIGHT_SOURCE_DIR) /
                       "tests/unit/sim/serving/facts" / table);
  std::string line;
  std::getline(stream, line);
  const std::vector<std::string> columns = cells_of(line);
  std::vector<Fact> found;
  while (std::getline(stream, line)) {
    const std::vector<std::string> cells = cells_of(line);
    Fact fact{line, {}};
    for (std::size_t i = 0; i < columns.size(); ++i) fact.cells[columns[i]] = cells.at(i);
    found.push_back(std::move(fact));
  }
  return found;
}

Device device_of(const char* name, const std::string& architecture, Bytes memory) {
  Device device;
  device.name = name;
  device.architecture = architecture;
  device.memory = memory;
  return device;
}

Model cached_model(const Fact& fact) {
  Model model = llama_model();
  model.num_layers = fact.whole("num_layers");
  model.num_query_groups = fact.whole("num_query_groups");
  model.kv_channels = fact.whole("kv_channels");
  model.sliding_window = fact.whole("sliding_window");
  model.sliding_window_interval = fact.whole("sliding_window_interval");
  model.sliding_window_in_chunks = fact.whole("in_chunks") != 0;
  if (fact.whole("kv_lora_rank") == 0) return model;
  const int indexer = fact.whole("dsa_indexer_head_dim");
  model.mla.emplace();
  model.mla->kv_lora_rank = fact.whole("kv_lora_rank");
  model.mla->qk_pos_emb_head_dim = fact.whole("qk_pos_emb_head_dim");
  model.mla->dsa_indexer_head_dim = indexer;
  model.mla->dsa_indexer_n_heads = indexer > 0 ? 64 : 0;
  return model;
}

TEST(EngineFacts, GroupsBlocksAndTokensOfTheCacheAreThoseOfVllm) {
  const Engine engine = test::shipped_engine("vllm-0.32");
  const Device device = device_of("NVIDIA H100 80GB HBM3", "hopper", gibibytes(79.65));
  const std::vector<Fact> rows = facts("vllm_cache.csv");
  EXPECT_EQ(rows.size(), 101U);
  for (const Fact& fact : rows) {
    SCOPED_TRACE(fact.line);
    const Model model = cached_model(fact);
    ReplicaOptions options;
    options.kv_cache = fact["kv_cache"] == "fp8" ? KvCacheFormat::fp8 : KvCacheFormat::bf16;
    options.layout.tensor_parallel_size = fact.whole("tensor_parallel_size");
    options.max_model_len = fact.whole("max_model_len");
    options = with_defaults(options, engine, device, model);
    ReplicaMemory memory;
    memory.sequence =
        in_groups(sequence_cache(model, options, options.block_size), model, engine, options);
    set_cache(memory, gibibytes(40), options);
    EXPECT_EQ(memory.sequence.groups.count(), fact.whole("groups"));
    EXPECT_EQ(memory.sequence.groups.block.value(), fact.number("block_bytes"));
    EXPECT_EQ(memory.kv_blocks, fact.number("num_blocks"));
    EXPECT_NEAR(memory.kv_tokens, fact.number("kv_tokens"), 1.0);
  }
}

TEST(EngineFacts, DefaultsFollowVllmOnEachDevice) {
  const Model model = test::shipped_model("llama-3.1-8b");
  for (const Fact& fact : facts("vllm_defaults.csv")) {
    SCOPED_TRACE(fact.line);
    Engine engine = test::shipped_engine("vllm-0.32");
    const Device device = device_of(fact["device"].c_str(), fact["architecture"],
                                    gibibytes(fact.number("memory_gib")));
    const std::map<std::string, ReplicaOptions> cases{
        {"tp8", {.layout = {.tensor_parallel_size = 8}}},
        {"pp2", {.layout = {.pipeline_parallel_size = 2}}},
        {"max_num_seqs_64", {.max_num_seqs = 64}},
        {"max_num_seqs_2000", {.max_num_seqs = 2000}},
        {"batched_2048", {.max_num_batched_tokens = 2048}},
        {"batched_400", {.max_num_batched_tokens = 400}},
        {"max_len_1000", {.max_model_len = 1000}},
        {"eager", {.enforce_eager = true}},
        {"throughput", {.throughput_mode = true}}};
    const auto asked = cases.find(fact["case"]);
    engine.host.overlapped = fact["case"] != "no_async";
    const ReplicaOptions options = with_defaults(
        asked == cases.end() ? ReplicaOptions{} : asked->second, engine, device, model);
    EXPECT_EQ(options.max_num_batched_tokens, fact.whole("max_num_batched_tokens"));
    EXPECT_EQ(options.max_num_seqs, fact.whole("max_num_seqs"));
    EXPECT_EQ(options.max_num_batched_tokens * steps_in_flight(engine, options.layout),
              fact.whole("tokens_in_flight"));
    if (options.enforce_eager) continue;
    const int graph = graph_max_batch(engine, device, options);
    EXPECT_EQ(graph, fact.whole("largest_graph"));
    EXPECT_EQ(captured_sizes(engine.graphs, graph), fact.whole("graphs"));
  }
}

TEST(EngineFacts, WeightsOfARankAreThoseOfVllm) {
  const Engine engine = test::shipped_engine("vllm-0.32");
  const Device device = device_of("NVIDIA H100 80GB HBM3", "hopper", gibibytes(79.65));
  const std::map<std::string, WeightScheme> schemes{
      {"bf16", {}},
      {"fp8", {.format = WeightFormat::fp8}},
      {"fp8_channel", {.format = WeightFormat::fp8}},
      {"fp8_block", {.format = WeightFormat::fp8_block}},
      {"awq", {.format = WeightFormat::int4, .zero_points = true}},
      {"gptq", {.format = WeightFormat::int4, .zero_points = true}},
      {"int4_pack", {.format = WeightFormat::int4}},
      {"nvfp4", {.format = WeightFormat::nvfp4}},
      {"mxfp4", {.format = WeightFormat::mxfp4, .quantized = kQuantizedExperts}}};
  for (const Fact& fact : facts("vllm_weights.csv")) {
    SCOPED_TRACE(fact.line);
    const Model model = test::shipped_model(fact["model"]);
    ReplicaOptions options{.weights = schemes.at(fact["format"])};
    options.layout.tensor_parallel_size = fact.whole("tensor_parallel_size");
    options = with_defaults(options, engine, device, model);
    const ReplicaMemory memory = replica_memory(model, device, engine, options);
    EXPECT_NEAR(memory.weights.total().value() / fact.number("rank_bytes"), 1.0, 0.01);
  }
}

TEST(EngineFacts, SharesOfMemoryAreThoseOfSglang) {
  const Engine engine = test::shipped_engine("sglang-0.5.23");
  for (const Fact& fact : facts("sglang_defaults.csv")) {
    SCOPED_TRACE(fact.line);
    const Device device = device_of("", fact["architecture"], mebibytes(fact.number("memory_mib")));
    Model model = llama_model();
    model.max_position_embeddings = 131'072;
    model.num_attention_heads = fact.whole("heads");
    model.image_encoder_num_layers = fact.whole("image_layers");
    model.image_encoder_hidden_size = fact.whole("image_width");
    if (fact["attention"] != "plain") {
      model.mla = LatentAttention{.kv_lora_rank = 512};
      model.mla->dsa_indexer_n_heads = fact["attention"] == "indexed" ? 64 : 0;
    }
    const std::string& name = fact["case"];
    ReplicaOptions options;
    options.layout.tensor_parallel_size = fact.whole("gpus");
    if (name == "dp_attention")
      std::swap(options.layout.tensor_parallel_size, options.layout.data_parallel_size);
    if (name == "deepep") options.exchange = ExpertExchange::deepep_low_latency;
    if (name == "max_running_64") options.max_num_seqs = 64;
    if (name == "prefill_role") options.role = PoolRole::prefill;
    if (name == "decode_role") options.role = PoolRole::decode;
    if (name == "mtp") options.num_speculative_tokens = 3;
    if (name == "no_graph") options.enforce_eager = true;
    if (name == "pp2") options.layout.pipeline_parallel_size = 2;
    options = with_defaults(options, engine, device, model);
    EXPECT_EQ(step_tokens(engine, options), fact.whole("chunk"));
    EXPECT_NEAR(replica_memory(model, device, engine, options).fraction, fact.number("share"),
                0.0025);
    if (name == "mtp") {
      EXPECT_EQ(options.max_num_seqs, 48);
    }
    if (name != "prefill_role" && name != "no_graph" && name != "mtp") {
      EXPECT_EQ(graph_max_batch(engine, device, options), fact.whole("largest_graph"));
    }
  }
}

// The cache holds 4 requests of max_model_len: 2,048 sequences by 512 a request, 20 of them 4,096
// at most (SGLang model_runner.py).
TEST(EngineFacts, SglangsSequencesFollowFromItsCache) {
  const Engine engine = test::shipped_engine("sglang-0.5.23");
  const Device device = device_of("", "hopper", gibibytes(79.65));
  const Model model = test::shipped_model("llama-3.1-8b");
  const auto sequences = [&](int length) {
    return with_defaults({.max_model_len = length}, engine, device, model).max_num_seqs;
  };
  EXPECT_EQ(sequences(131'072), 2048);
  EXPECT_EQ(sequences(8192), 4096);
}

}  // namespace
}  // namespace meshwright
