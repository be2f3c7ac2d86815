// SPDX-License-Identifier: Apache-2.0
#include "app/options/option_synonyms.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

#include "app/console/terminal.h"
#include "app/files/config_names.h"
#include "app/files/config_words.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/layout/fields.h"

namespace meshwright::app {
namespace {

struct OptionSynonym {
  std::string_view typed;  // without dashes; words are joined by dashes
  std::string_view option;
  std::string_view value{};  // of a flag without one
};
constexpr std::array kOptions{OptionSynonym{"tensor-parallel", "--tp"},
                              OptionSynonym{"tensor-parallel-size", "--tp"},
                              OptionSynonym{"tensor-parallel-degree", "--tp"},
                              OptionSynonym{"tensor-parallelism", "--tp"},
                              OptionSynonym{"tensor-model-parallel-size", "--tp"},
                              OptionSynonym{"tp-size", "--tp"},
                              OptionSynonym{"tp-degree", "--tp"},
                              OptionSynonym{"pipeline-parallel", "--pp"},
                              OptionSynonym{"pipeline-parallel-size", "--pp"},
                              OptionSynonym{"pipeline-parallel-degree", "--pp"},
                              OptionSynonym{"pipeline-parallelism", "--pp"},
                              OptionSynonym{"pipeline-model-parallel-size", "--pp"},
                              OptionSynonym{"pp-size", "--pp"},
                              OptionSynonym{"pp-degree", "--pp"},
                              OptionSynonym{"context-parallel", "--cp"},
                              OptionSynonym{"context-parallel-size", "--cp"},
                              OptionSynonym{"context-parallel-degree", "--cp"},
                              OptionSynonym{"cp-size", "--cp"},
                              OptionSynonym{"cp-comm-type", "--cp-comm"},
                              OptionSynonym{"expert-parallel", "--ep"},
                              OptionSynonym{"expert-parallel-size", "--ep"},
                              OptionSynonym{"expert-parallel-degree", "--ep"},
                              OptionSynonym{"expert-model-parallel-size", "--ep"},
                              OptionSynonym{"ep-size", "--ep"},
                              OptionSynonym{"expert-tensor-parallel-size", "--etp"},
                              OptionSynonym{"expert-tensor-parallel-degree", "--etp"},
                              OptionSynonym{"virtual-pipeline-model-parallel-size", "--vpp"},
                              OptionSynonym{"virtual-pipeline-parallel-size", "--vpp"},
                              OptionSynonym{"pipeline-model-parallel-layout", "--pipeline-layout"},
                              OptionSynonym{"pipeline-parallel-schedule", "--schedule"},
                              OptionSynonym{"pp-schedule", "--schedule"},
                              OptionSynonym{"micro-batch-size", "--mbs"},
                              OptionSynonym{"micro-batch", "--mbs"},
                              OptionSynonym{"microbatch-size", "--mbs"},
                              OptionSynonym{"train-micro-batch-size-per-gpu", "--mbs"},
                              OptionSynonym{"local-batch-size", "--mbs"},
                              OptionSynonym{"sequence-parallel", "--sp", "true"},
                              OptionSynonym{"enable-sequence-parallel", "--sp", "true"},
                              OptionSynonym{"tp-comm-overlap", "--tp-overlap", "true"},
                              OptionSynonym{"zero-stage", "--zero"},
                              OptionSynonym{"use-distributed-optimizer", "--zero", "1"},
                              OptionSynonym{"recompute-granularity", "--recompute"},
                              OptionSynonym{"recompute-activations", "--recompute", "selective"},
                              OptionSynonym{"activation-checkpointing", "--recompute", "full"},
                              OptionSynonym{"gradient-checkpointing", "--recompute", "full"},
                              OptionSynonym{"recompute-num-layers", "--recompute-layers"},
                              OptionSynonym{"cuda-graph-impl", "--cuda-graphs"},
                              OptionSynonym{"moe-token-dispatcher-type", "--moe-dispatcher"},
                              OptionSynonym{"num-gpus", "--gpus"},
                              OptionSynonym{"ngpus", "--gpus"},
                              OptionSynonym{"ngpu", "--gpus"},
                              OptionSynonym{"n-gpus", "--gpus"},
                              OptionSynonym{"gpu", "--gpus"},
                              OptionSynonym{"gpu-count", "--gpus"},
                              OptionSynonym{"world-size", "--gpus"},
                              OptionSynonym{"num-devices", "--gpus"},
                              OptionSynonym{"devices", "--gpus"},
                              OptionSynonym{"global-batch", "--global-batch-size"},
                              OptionSynonym{"gbs", "--global-batch-size"},
                              OptionSynonym{"batch-size", "--global-batch-size"},
                              OptionSynonym{"train-batch-size", "--global-batch-size"},
                              OptionSynonym{"seq-len", "--seq-length"},
                              OptionSynonym{"seqlen", "--seq-length"},
                              OptionSynonym{"seq", "--seq-length"},
                              OptionSynonym{"sequence-length", "--seq-length"},
                              OptionSynonym{"max-seq-len", "--seq-length"},
                              OptionSynonym{"max-model-len", "--seq-length"},
                              OptionSynonym{"context-length", "--seq-length"},
                              OptionSynonym{"dtype", "--precision"},
                              OptionSynonym{"mixed-precision", "--precision"},
                              OptionSynonym{"bf16", "--precision", "bf16"},
                              OptionSynonym{"fp16", "--precision", "fp16"},
                              OptionSynonym{"fp8", "--precision", "fp8"},
                              OptionSynonym{"tokens", "--train-tokens"},
                              OptionSynonym{"num-tokens", "--train-tokens"},
                              OptionSynonym{"training-tokens", "--train-tokens"},
                              OptionSynonym{"lora-rank", "--lora"},
                              OptionSynonym{"lora-r", "--lora"},
                              OptionSynonym{"days", "--deadline"},
                              OptionSynonym{"rps", "--rate"},
                              OptionSynonym{"qps", "--rate"},
                              OptionSynonym{"request-rate", "--rate"},
                              OptionSynonym{"max-concurrency", "--concurrency"},
                              OptionSynonym{"model-name", "--model"},
                              OptionSynonym{"model-name-or-path", "--model"},
                              OptionSynonym{"hf-model", "--model"},
                              OptionSynonym{"hardware", "--cluster"},
                              OptionSynonym{"machine", "--cluster"},
                              OptionSynonym{"system", "--cluster"},
                              OptionSynonym{"software", "--framework"},
                              OptionSynonym{"launcher", "--target"},
                              OptionSynonym{"output", "--out"},
                              OptionSynonym{"output-file", "--out"},
                              OptionSynonym{"json", "--format", "json"},
                              OptionSynonym{"csv", "--format", "csv"}};

// Option of another program that has no equal here, and advice on how to state it.
struct Advice {
  std::string_view typed, means;
};
constexpr std::array kAdvice{
    Advice{"nodes", "use --gpus with the number of devices: nodes x devices per node"},
    Advice{"num-nodes", "use --gpus with the number of devices: nodes x devices per node"},
    Advice{"nnodes", "use --gpus with the number of devices: nodes x devices per node"},
    Advice{"gpus-per-node", "set \"gpus_per_node\" in the cluster file"},
    Advice{"nproc-per-node", "set \"gpus_per_node\" in the cluster file"},
    Advice{"dp", "leave it out; it is devices / (tp x pp x cp)"},
    Advice{"data-parallel", "leave it out; it is devices / (tp x pp x cp)"},
    Advice{"data-parallel-size", "leave it out; it is devices / (tp x pp x cp)"},
    Advice{"data-parallel-replicate-degree", "leave it out; it is devices / (tp x pp x cp)"},
    Advice{"data-parallel-shard-degree", "use --zero and --zero-shard"},
    Advice{"tokens-per-batch", "use --global-batch-size with sequences: tokens / --seq-length"},
    Advice{"batch-tokens", "use --global-batch-size with sequences: tokens / --seq-length"},
    Advice{"gradient-accumulation-steps",
           "leave it out; it follows from --global-batch-size and --mbs"}};

// "--parallelism.tensor_parallel_degree" is tensor-parallel-degree.
std::string plain_name(const std::string& option) {
  const std::string name = lower_case(option.substr(2));
  return replaced(name.substr(name.find_last_of('.') + 1), "_", "-");
}

bool has(const CLI::App& command, std::string_view option) {
  return command.get_option_no_throw(std::string(option)) != nullptr;
}

// The layout field that an option of the search space sets; empty: none.
std::string layout_word(std::string_view option) {
  std::string word;
  for_each_field([&](const auto& field) {
    if (!field.option.empty() && field.option == option) word = field.short_name;
  });
  return word;
}

// "--cluster '8 x RTX 4090'" says --gpus 8 as well, unless that is said.
void add_counted_devices(const CLI::App& command, const std::vector<std::string>& words,
                         const std::string& cluster, std::vector<std::string>& own) {
  const int devices = counted_name(cluster).devices;
  const bool is_name = find_config(cluster, "clusters") == cluster &&
                       cluster.find('/') == std::string::npos && !cluster.ends_with(".json");
  const bool says_gpus = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.starts_with("--gpus");
  });
  if (devices == 0 || !is_name || says_gpus || !has(command, "--gpus")) return;
  own.push_back(fmt::format("--gpus={}", devices));
}

[[noreturn]] void refuse_for_layout(const CLI::App& command, const std::string& option,
                                    const std::string& word, const std::string& value) {
  throw InputError(
      fmt::format("unknown option {} of meshwright {}", option, command.get_name()),
      fmt::format("set it in the layout: --layout {}={}", word, value.empty() ? "..." : value));
}

}  // namespace

std::vector<std::string> with_own_options(const CLI::App& command,
                                          const std::vector<std::string>& words) {
  std::vector<std::string> own;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t equals = word.find('=');
    const std::string option = word.substr(0, equals);
    const bool has_next = i + 1 < words.size() && !words[i + 1].starts_with("--");
    const std::string next = has_next ? words[i + 1] : "";
    const std::string value = equals == std::string::npos ? next : word.substr(equals + 1);
    if (!word.starts_with("--") || word.size() == 2 || has(command, option)) {
      if (option == "--cluster") add_counted_devices(command, words, value, own);
      own.push_back(word);
      continue;
    }
    const std::string name = plain_name(option);
    const auto* const known =
        std::find_if(kOptions.begin(), kOptions.end(), [&](const OptionSynonym& synonym) {
          return name == synonym.typed || "--" + name == synonym.option;
        });
    if (known != kOptions.end() && has(command, known->option)) {
      say("{} is read as {}\n", option, known->option);
      own.emplace_back(known->option);
      if (equals != std::string::npos) {
        own.push_back(value);
      } else if (!has_next && !known->value.empty()) {
        own.emplace_back(known->value);
      }
      continue;
    }
    const std::string in_layout =
        layout_word(known != kOptions.end() ? known->option : "--" + name);
    if (!in_layout.empty() && has(command, "--layout")) {
      refuse_for_layout(command, option, in_layout, value);
    }
    for (const Advice& advice : kAdvice) {
      if (name != advice.typed) continue;
      throw InputError(
          fmt::format("unknown option {} of meshwright {}", option, command.get_name()),
          std::string(advice.means));
    }
    own.push_back(word);
  }
  return own;
}

}  // namespace meshwright::app
