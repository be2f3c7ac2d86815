// SPDX-License-Identifier: Apache-2.0
// Every example of docs/reference/supported-inputs.md is read.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "interop/logs/training_log.h"
#include "interop/read_cluster/read_cluster.h"
#include "interop/read_launch/read_launch.h"
#include "sim/base/error.h"
#include "tests/paths.h"

namespace meshwright::interop {
namespace {

struct Block {
  std::string language, text;
};

std::vector<Block> blocks_of(const std::string& file) {
  std::ifstream in(std::string(MESHWRIGHT_SOURCE_DIR) + "/" + file);
  std::vector<Block> blocks;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      if (!inside) blocks.push_back({line.substr(3), ""});
      inside = !inside;
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

constexpr const char* kPage = "docs/reference/supported-inputs.md";

// Files of some launchers do not say the sequence length; of those that do, none may be stated.
LaunchRecord read_example(const std::string& text) {
  try {
    return read_launch(text, kPage, {});
  } catch (const InputError&) {
    LaunchHints hints;
    hints.seq_length = 4096;
    return read_launch(text, kPage, hints);
  }
}

TEST(InteropPage, EveryExampleIsRead) {
  std::map<std::string, int> targets, logs, machines;
  for (const Block& block : blocks_of(kPage)) {
    if (block.language.empty()) continue;
    if (block.language == "text log") {
      const TrainingLog log = read_training_log(block.text);
      EXPECT_EQ(log.steps.size(), 1U) << block.text;
      ++logs[log.target];
      continue;
    }
    if (block.language.ends_with(" cluster")) {
      ++machines[read_cluster_facts(block.text, kPage).tool];
      continue;
    }
    const LaunchRecord record = read_example(block.text);
    EXPECT_TRUE(record.not_understood.empty()) << block.text;
    ++targets[record.target];
  }
  EXPECT_EQ(targets, (std::map<std::string, int>{{"DeepSpeed", 1},
                                                 {"Megatron-Bridge", 2},
                                                 {"Megatron-LM", 2},
                                                 {"GPT-NeoX", 1},
                                                 {"LLaMA-Factory", 1},
                                                 {"NeMo", 1},
                                                 {"NeMo AutoModel", 1},
                                                 {"OLMo", 1},
                                                 {"Primus", 1},
                                                 {"TRL", 1},
                                                 {"accelerate", 1},
                                                 {"axolotl", 1},
                                                 {"llm-foundry", 1},
                                                 {"ms-swift", 1},
                                                 {"nanotron", 1},
                                                 {"torchtitan", 2}}));
  EXPECT_EQ(logs, (std::map<std::string, int>{{"DeepSpeed", 1},
                                              {"GPT-NeoX", 1},
                                              {"Hugging Face Trainer", 1},
                                              {"MaxText", 1},
                                              {"Megatron-LM", 1},
                                              {"NeMo", 2},
                                              {"OLMo-core", 1},
                                              {"llm-foundry", 1},
                                              {"ms-swift", 1},
                                              {"nanotron", 1},
                                              {"torchtitan", 1}}));
  EXPECT_EQ(machines, (std::map<std::string, int>{{"NCCL topology", 1},
                                                  {"ibnetdiscover", 1},
                                                  {"ibstat", 1},
                                                  {"kubectl get nodes", 1},
                                                  {"lstopo", 1},
                                                  {"neuron-ls", 1},
                                                  {"nvidia-smi nvlink -s, nvidia-smi", 1},
                                                  {"nvidia-smi topo -m", 1},
                                                  {"rocm-smi --showtopo", 1},
                                                  {"scontrol show node", 1},
                                                  {"sinfo", 1},
                                                  {"topograph", 1},
                                                  {"topology.conf", 1},
                                                  {"topology.yaml", 1}}));
}

TEST(InteropPage, ItsScriptSaysWhatItLooksLike) {
  for (const Block& block : blocks_of("docs/reference/supported-inputs.md")) {
    if (block.language != "sh") continue;
    const LaunchRecord record = read_launch(block.text, "train.sh", {});
    EXPECT_EQ(record.gpus, 32);
    EXPECT_EQ(record.model.num_query_groups, 8);
    EXPECT_EQ(record.layout.tensor_parallel_size, 4);
  }
}

}  // namespace
}  // namespace meshwright::interop
