// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/serving_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "interop/read_launch/command_values.h"
#include "interop/serving/pool_reading.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_option(const std::string& word) { return word.starts_with('-') && word.size() > 1; }

struct Module {
  std::string_view name;
  EngineKind engine;
};
constexpr std::array kModules{Module{"vllm.entrypoints.openai.api_server", EngineKind::vllm},
                              Module{"vllm.entrypoints.api_server", EngineKind::vllm},
                              Module{"vllm.entrypoints.cli.main", EngineKind::vllm},
                              Module{"vllm/entrypoints/openai/api_server.py", EngineKind::vllm},
                              Module{"dynamo.vllm", EngineKind::vllm},
                              Module{"sglang.launch_server", EngineKind::sglang},
                              Module{"sglang/launch_server.py", EngineKind::sglang},
                              Module{"dynamo.sglang", EngineKind::sglang},
                              Module{"dynamo.trtllm", EngineKind::tensorrt_llm},
                              Module{"tensorrt_llm.commands.serve", EngineKind::tensorrt_llm}};

// Environment variables of engines that change no number.
bool harmless_variable(const std::string& name) {
  constexpr std::array kHarmless{"VLLM_API_KEY",
                                 "VLLM_LOGGING_LEVEL",
                                 "VLLM_ENGINE_READY_TIMEOUT_S",
                                 "VLLM_CACHE_ROOT",
                                 "VLLM_RPC_TIMEOUT",
                                 "VLLM_HOST_IP",
                                 "VLLM_NO_USAGE_STATS",
                                 "VLLM_CONFIGURE_LOGGING",
                                 "VLLM_WORKER_MULTIPROC_METHOD",
                                 "VLLM_NIXL_SIDE_CHANNEL_HOST",
                                 "VLLM_NIXL_SIDE_CHANNEL_PORT",
                                 "VLLM_USE_MODELSCOPE",
                                 "SGLANG_LOG_LEVEL",
                                 "TLLM_LOG_LEVEL",
                                 "VLLM_RANDOMIZE_DP_DUMMY_INPUTS",
                                 "VLLM_USE_V1",
                                 "VLLM_SKIP_P2P_CHECK"};
  return std::find(kHarmless.begin(), kHarmless.end(), name) != kHarmless.end();
}
bool names_kernels(const std::string& name) {
  return name.find("ATTENTION_BACKEND") != std::string::npos ||
         name.find("USE_FLASHINFER") != std::string::npos ||
         name.find("AITER") != std::string::npos || name.find("DEEP_GEMM") != std::string::npos ||
         name.find("DEEPGEMM") != std::string::npos;
}
bool is_engine_variable(const std::string& name) {
  return name.starts_with("VLLM_") || name.starts_with("SGLANG_") || name.starts_with("SGL_") ||
         name.starts_with("TRTLLM_") || name.starts_with("TLLM_");
}

// A variable that the script itself uses says what it does in the commands.
bool is_used(std::string_view text, const std::string& name) {
  return text.find("$" + name) != std::string_view::npos ||
         text.find("${" + name) != std::string_view::npos;
}

void read_engine_environment(const ScriptContext& context, ServingLaunch& launch) {
  for (const auto& [name, value] : context.script.exported) {
    if (!is_engine_variable(name) || is_used(context.text, name)) continue;
    const std::string said = name + "=" + value.text();
    const Place place{context.file, value.line()};
    if (harmless_variable(name)) {
      launch.passed_over.push_back({said, "logs, addresses and start-up of the engine", place});
    } else if (names_kernels(name)) {
      launch.passed_over.push_back({said,
                                    "choice of kernels: step times are fitted over launch commands "
                                    "that choose them; bytes stay",
                                    place});
    } else {
      launch.not_understood.push_back({.said = said,
                                       .why = "is no known variable of an engine",
                                       .place = place,
                                       .effect = OptionEffect::unknown,
                                       .key = name});
    }
  }
}

Value value_of_word(const MarkedText& word, const ScriptContext& context) {
  Value value;
  value.words = {word.text()};
  value.said = word.text();
  value.place = {context.file, word.line()};
  value.unknown = why_unknown(word, context.script);
  return value;
}

// Files that the script writes itself stand before those beside it.
ReadNamedFile files_of(const ScriptContext& context) {
  return [&context](const std::string& name) -> std::optional<std::string> {
    for (const HereDocument& document : context.script.here_documents) {
      if (!name.empty() && document.file.text() == name) return document.text.text();
    }
    return context.read ? context.read(name) : std::nullopt;
  };
}

// Two processes of the same kind are replicas of one pool.
void join_pool(const LaunchedPool& pool, ServingLaunch& launch, const Place& place) {
  for (LaunchedPool& other : launch.pools) {
    LaunchedPool same = pool;
    same.replicas = other.replicas;
    if (same == other) {
      other.replicas += pool.replicas;
      return;
    }
    if (other.role != pool.role) continue;
    launch.not_understood.push_back(
        {.said = fmt::format("a second {} pool, {}", name_of(pool.role),
                             short_name(pool.options.layout)),
         .why = fmt::format("differs from the first, {}; one layout for each role is compared",
                            short_name(other.options.layout)),
         .place = place,
         .effect = OptionEffect::sizes});
    return;
  }
  launch.pools.push_back(pool);
}

// Joins "$( test 4 && echo 30 )" without quotes, which was split at its blanks, to one word of
// unknown value.
ShellCommand with_whole_outputs(const ShellCommand& command, std::size_t first) {
  ShellCommand whole = command;
  whole.words.clear();
  int open = 0;
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const MarkedText& word = command.words[i];
    if (open > 0) {
      whole.words.back().add(' ', word.line(), true);
      whole.words.back().add(word);
    } else {
      whole.words.push_back(word);
    }
    const bool begins = i >= first && word.unknown() && contains(word.text(), "$(");
    if (open == 0 && !begins) continue;
    for (std::size_t c = 0; c < word.size(); ++c) {
      if (word.unknown_at(c)) open += word.at(c) == '(' ? 1 : word.at(c) == ')' ? -1 : 0;
    }
    open = std::max(open, 0);
  }
  return whole;
}

}  // namespace

std::string version_in_image(const std::string& image) {
  const std::size_t colon = image.rfind(':');
  if (colon == std::string::npos) return "";
  for (std::size_t begin = colon + 1; begin < image.size(); ++begin) {
    if (std::isdigit(static_cast<unsigned char>(image[begin])) == 0) continue;
    std::size_t end = begin;
    while (end < image.size() &&
           (std::isdigit(static_cast<unsigned char>(image[end])) != 0 || image[end] == '.')) {
      ++end;
    }
    std::string number = image.substr(begin, end - begin);
    if (number.find('.') != std::string::npos && number.back() != '.') return number;
    begin = end;
  }
  return "";
}

std::optional<EngineKind> engine_of_image(const std::string& image) {
  const std::string name = lower_case(image.substr(0, image.rfind(':')));
  if (contains(name, "vllm") || contains(name, "llm-d")) return EngineKind::vllm;
  if (contains(name, "sglang")) return EngineKind::sglang;
  if (contains(name, "tensorrt-llm") || contains(name, "tensorrtllm") || contains(name, "trtllm")) {
    return EngineKind::tensorrt_llm;
  }
  return std::nullopt;
}

std::optional<EngineCommand> engine_command(const ShellCommand& command) {
  const std::string& program = command.words.front().text();
  if (program == "echo" || program == "printf" || program == "pip" || program == "pkill") {
    return std::nullopt;
  }
  std::string image;
  std::size_t behind_image = 0;
  const bool in_container = program == "docker" || program == "podman" || program == "sudo";
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const std::string& word = command.words[i].text();
    const auto next = [&](std::string_view is) {
      return i + 1 < command.words.size() && command.words[i + 1].text() == is;
    };
    const std::string name = base_name(word);
    if (name == "vllm" && next("serve")) return EngineCommand{EngineKind::vllm, i + 2, true, image};
    if (name == "sglang" && next("serve")) {
      return EngineCommand{EngineKind::sglang, i + 2, false, image};
    }
    if (name == "trtllm-serve") {
      const bool named = next("serve");
      return EngineCommand{EngineKind::tensorrt_llm, i + (named ? 2U : 1U), true, image};
    }
    for (const Module& module : kModules) {
      if (word == module.name || (module.name.ends_with(".py") && word.ends_with(module.name))) {
        return EngineCommand{module.engine, i + 1, false, image};
      }
    }
    const bool is_image = in_container && image.empty() && i > 0 && !is_option(word) &&
                          word.find('/') != std::string::npos && !word.starts_with('/') &&
                          !contains(word, "=") && engine_of_image(word).has_value();
    if (is_image) {
      image = word;
      behind_image = i + 1;
    }
  }
  // vLLM's image starts the server itself.
  if (behind_image > 0 && engine_of_image(image) == EngineKind::vllm) {
    return EngineCommand{EngineKind::vllm, behind_image, true, image};
  }
  return std::nullopt;
}

void add_pool(const ShellCommand& parted, const EngineCommand& engine, const LaunchedPool& base,
              const ScriptContext& context, ServingLaunch& launch) {
  const ShellCommand command = with_whole_outputs(parted, engine.first);
  const Place place{context.file, command.words.front().line()};
  if (launch.pools.empty()) {
    launch.engine = engine.engine;
  } else if (launch.engine != engine.engine) {
    launch.not_understood.push_back(
        {.said = fmt::format("a command of {}", title_of(engine.engine)),
         .why = fmt::format("the file starts {}, too", title_of(launch.engine)),
         .place = place});
    return;
  }
  if (launch.engine_version.empty()) launch.engine_version = version_in_image(engine.image);
  const ReadNamedFile files = files_of(context);
  LaunchedPool pool = base;
  PoolReading reading(launch, pool, files);
  std::size_t first = engine.first;
  if (engine.model_stands && first < command.words.size() &&
      !is_option(command.words[first].text())) {
    reading.model(value_of_word(command.words[first], context));
    ++first;
  }
  const auto words = [&](std::string_view name) -> std::size_t {
    const ServingOption* option = serving_option(engine.engine, spelled(name));
    return option == nullptr ? 1 : static_cast<std::size_t>(option->words);
  };
  std::vector<Value> values = options_of(command, first, context.script, context.file, words);
  reading.options(values);
  reading.finish();
  join_pool(pool, launch, place);
}

void read_client(const ShellCommand& command, const ScriptContext& context, ServingLaunch& launch) {
  bool is_vllm = false, is_client = false;
  std::size_t first = 0;
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const std::string name = base_name(command.words[i].text());
    const auto word = [&](std::size_t at) {
      return at < command.words.size() ? command.words[at].text() : std::string();
    };
    const bool vllm = (name == "vllm" && word(i + 1) == "bench" && word(i + 2) == "serve") ||
                      name == "benchmark_serving.py";
    if (!vllm && name != "sglang.bench_serving" && name != "bench_serving.py") continue;
    is_client = true;
    is_vllm = vllm;
    first = i + 1;
    break;
  }
  if (!is_client) return;
  Values values;
  for (Value& value : options_of(command, first, context.script, context.file)) {
    value.key = spelled(value.key);
    values.add(std::move(value));
  }
  ServingLoad load;
  double ratio = 0;
  const auto known = [&](const char* key) -> const Value* {
    const Value* value = values.find(key);
    return value != nullptr && value->unknown.empty() && value->words.size() == 1 ? value : nullptr;
  };
  const Value* input = known("random-input-len");
  const Value* output = known("random-output-len");
  if (input == nullptr || output == nullptr) return;
  try {
    load.lengths.input = integer_of(*input, {1, 10'000'000});
    load.lengths.output = integer_of(*output, {1, 10'000'000});
    if (const Value* value = known("random-range-ratio")) {
      ratio = number_of(*value, {.low = 0.0, .high = 1.0});
    }
    if (const Value* value = known("num-prompts")) {
      load.num_requests = integer_of(*value, {1, 10'000'000});
    }
    const Value* users = known("max-concurrency");
    const Value* rate = known("request-rate");
    if (rate != nullptr && rate->words.front() != "inf") {
      load.kind = LoadKind::open_loop;
      load.request_rate = number_of(*rate, {.low = 1e-6, .high = 1e6});
    } else if (users != nullptr) {
      load.concurrency = integer_of(*users, {1, 1'000'000});
    } else if (load.num_requests > 0) {
      load.kind = LoadKind::all_at_once;
    } else {
      return;
    }
    if (const Value* value = known("burstiness")) {
      load.burstiness = number_of(*value, {.low = 1e-3, .high = 1e6});
    }
  } catch (const InputError& error) {
    launch.not_understood.push_back(
        {.said = "the benchmark's command", .why = error.what(), .place = {}});
    return;
  }
  // vLLM: L (1 - r) to L (1 + r); SGLang: L r to L.
  if (is_vllm && ratio > 0 && ratio < 1) {
    load.lengths.kind = LengthKind::uniform;
    load.lengths.least_share = (1.0 - ratio) / (1.0 + ratio);
    load.lengths.input = static_cast<int>(std::lround(load.lengths.input * (1.0 + ratio)));
    load.lengths.output = static_cast<int>(std::lround(load.lengths.output * (1.0 + ratio)));
  } else if (!is_vllm && ratio < 1) {
    load.lengths.kind = LengthKind::uniform;
    load.lengths.least_share = ratio;
  }
  launch.read.push_back({"load",
                         fmt::format("{} + {} tokens, {}", number_text(mean_input(load.lengths)),
                                     number_text(mean_output(load.lengths)), name_of(load.kind)),
                         command.words[first - 1].text(),
                         {context.file, command.words.front().line()}});
  launch.load = load;
}

bool read_engine_script(const ScriptContext& context, const LaunchedPool& base,
                        ServingLaunch& launch) {
  bool found = false;
  for (const ShellCommand& command : context.script.commands) {
    if (const auto engine = engine_command(command)) {
      add_pool(command, *engine, base, context, launch);
      found = true;
    } else {
      read_client(command, context, launch);
    }
  }
  if (!found) return false;
  read_engine_environment(context, launch);
  for (const LeftOutOptions& options : context.script.left_out) {
    if (options.words.find("--") == std::string::npos) continue;
    launch.not_understood.push_back(
        {.said = options.words,
         .why = fmt::format("added under a condition that is not known ({})", options.why),
         .place = {context.file, options.line},
         .effect = OptionEffect::unknown,
         .undecided = true});
  }
  for (const NotSourced& missing : context.script.not_sourced) {
    launch.passed_over.push_back(
        {"source " + missing.name,
         "is not there; what it sets is unknown, and named where it is used",
         {context.file, missing.line}});
  }
  for (const TakenDefault& taken : context.script.taken_defaults) {
    launch.assumed.push_back({taken.name,
                              taken.value,
                              fmt::format("line {}: the environment may say otherwise", taken.line),
                              {context.file, taken.line}});
  }
  return true;
}

}  // namespace meshwright::interop
