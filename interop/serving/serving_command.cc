// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/serving_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>

#include "interop/read_launch/command_values.h"
#include "interop/serving/pool_reading.h"
#include "interop/serving/service_environment.h"
#include "interop/shell/base_name.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

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

// A variable that the script itself uses says what it does in the commands.
bool is_used(std::string_view text, const std::string& name) {
  return text.find("$" + name) != std::string_view::npos ||
         text.find("${" + name) != std::string_view::npos;
}

void append(std::vector<Value>& to, const std::vector<Value>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Variables that the script exports and does not use itself.
std::vector<Value> exported_variables(const ScriptContext& context) {
  std::vector<Value> variables;
  for (const auto& [name, value] : context.script.exported) {
    const bool of_a_command = std::any_of(
        context.script.commands.begin(), context.script.commands.end(),
        [&name = name](const ShellCommand& command) { return command.variables.contains(name); });
    if (of_a_command || is_used(context.text, name)) continue;
    variables.push_back(
        assignment_of(name + "=" + value.text(), Place{context.file, value.line()}));
  }
  return variables;
}

// "2", "device=0,1", "\"device=0,1\""; 0: all, or not known.
int gpus_of_docker(const std::string& text) {
  const std::string list = replaced(text, "\"", "");
  constexpr std::string_view kDevices = "device=";
  if (list.starts_with(kDevices)) return num_visible_devices(list.substr(kDevices.size()));
  int count = 0;
  const char* const end = list.data() + list.size();
  const auto [stopped, error] = std::from_chars(list.data(), end, count);
  return error == std::errc() && stopped == end ? std::max(0, count) : 0;
}

// The words in front of the program: variables that a launcher or docker sets, and its devices.
void read_start_words(const ShellCommand& command, const EngineCommand& engine,
                      const ScriptContext& context, std::vector<Value>& environment,
                      LaunchedPool& pool, ServingLaunch& launch) {
  for (std::size_t i = 0; i < engine.first; ++i) {
    const std::string& word = command.words[i].text();
    const Place place{context.file, command.words[i].line()};
    const auto value_of = [&](std::string_view option) -> std::optional<std::string> {
      if (word == option && i + 1 < engine.first) return command.words[i + 1].text();
      if (word.starts_with(std::string(option) + "=")) return word.substr(option.size() + 1);
      return std::nullopt;
    };
    if (const auto file = value_of("--env-file")) {
      append(environment, variables_of_file(*file, place, context.read, launch));
    } else if (const auto devices = value_of("--gpus")) {
      pool.visible_gpus = gpus_of_docker(*devices);
    } else if (!command.words[i].unknown()) {
      environment.push_back(assignment_of(word, place));
    }
  }
  // Of several engines each has devices of its own, and the variable is the last one's.
  const auto engines =
      std::count_if(context.script.commands.begin(), context.script.commands.end(),
                    [](const ShellCommand& each) { return engine_command(each).has_value(); });
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    const auto visible = context.script.exported.find(name);
    const bool known = visible != context.script.exported.end() && !visible->second.unknown();
    if (engines == 1 && pool.visible_gpus == 0 && known) {
      pool.visible_gpus = num_visible_devices(visible->second.text());
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

// The profile of a NIM chooses the engine, the sizes and the format that no variable states.
void read_nim(const std::string& image, const Place& place, const LaunchedPool& pool,
              PoolReading& reading, ServingLaunch& launch) {
  const std::string name = image.substr(0, image.rfind(':'));
  if (!reading.has_model() && !name.ends_with("llm-nim")) {
    reading.model({"--model", {name.substr(name.find("nim/") + 4)}, image, place});
  }
  launch.assumed.push_back(
      {"engine", "vLLM", "a profile may choose another engine, another format and sizes", place});
  const int gpus = pool.gpus_of_container > 0 ? pool.gpus_of_container : pool.visible_gpus;
  if (reading.has_tensor_size() || gpus == 1) return;
  launch.not_understood.push_back(
      {.said = "no tensor size",
       .why = "the profile of a NIM sets it: --set NIM_TENSOR_PARALLEL_SIZE=N states it",
       .place = place,
       .effect = OptionEffect::sizes,
       .key = "NIM_TENSOR_PARALLEL_SIZE"});
}

// Two processes of the same kind are replicas of one pool, unless one of them follows the other on
// another node.
bool joined(const LaunchedPool& pool, LaunchedPool& other) {
  LaunchedPool same = pool;
  same.replicas = other.replicas;
  same.follows = other.follows;
  if (!(same == other)) return false;
  if (!pool.follows && !other.follows) other.replicas += pool.replicas;
  other.follows = other.follows && pool.follows;
  return true;
}

// Tells whether a pool is the other half of a service, or the same one again. Beside a pool that
// prefills, one without a role decodes.
bool takes_pool(ServingLaunch& service, const LaunchedPool& pool) {
  bool prefill = false, decode = false, aggregated = false;
  for (LaunchedPool& other : service.pools) {
    if (joined(pool, other)) return true;
    prefill |= other.role == PoolRole::prefill;
    decode |= other.role == PoolRole::decode;
    aggregated |= other.role == PoolRole::aggregated;
  }
  const bool half = pool.role == PoolRole::prefill ? !prefill && decode != aggregated
                                                   : prefill && !decode && !aggregated;
  if (half) service.pools.push_back(pool);
  return half;
}

template <typename T>
void append_all(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// What one command says goes to the service that it belongs to, or starts another one.
void join(const ServingLaunch& own, ServingLaunch& launch) {
  ServingLaunch* service = launch.pools.empty() ? &launch : nullptr;
  if (service != nullptr) {
    launch.engine = own.engine;
    launch.pools = own.pools;
  }
  const auto belongs = [&](ServingLaunch& other) {
    const bool model = own.model.empty() || other.model.empty() || own.model == other.model;
    return model && own.engine == other.engine && takes_pool(other, own.pools.front());
  };
  if (service == nullptr && belongs(launch)) service = &launch;
  for (ServingLaunch& other : launch.more) {
    if (service == nullptr && belongs(other)) service = &other;
  }
  if (service == nullptr) {
    launch.more.push_back(own);
    return;
  }
  if (service->engine_version.empty()) service->engine_version = own.engine_version;
  if (service->model.empty()) service->model = own.model;
  if (own.weights) service->weights = own.weights;
  if (own.prefix_caching) service->prefix_caching = own.prefix_caching;
  if (own.async_scheduling) service->async_scheduling = own.async_scheduling;
  service->kv_cache_said |= own.kv_cache_said;
  service->longer_positions |= own.longer_positions;
  append_all(service->read, own.read);
  append_all(service->assumed, own.assumed);
  append_all(service->passed_over, own.passed_over);
  append_all(service->not_understood, own.not_understood);
  append_all(service->cannot_start, own.cannot_start);
  append_all(service->gone, own.gone);
}

}  // namespace

std::string version_in_image(const std::string& image) {
  // Tags of these are versions of what stands around the engine, or months.
  for (const char* name : {"llm-d", "ai-dynamo/", "-runtime:", "nim/", "lmcache/", "rayproject/",
                           "nvidia/vllm:", "nvidia/sglang:"}) {
    if (contains(image, name)) return "";
  }
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

bool is_nim(const std::string& image) { return contains(image, "/nim/"); }

std::optional<EngineKind> engine_of_image(const std::string& image) {
  if (is_nim(image)) return EngineKind::vllm;
  const std::string name = lower_case(image.substr(0, image.rfind(':')));
  // Proxies that stand in front of an engine.
  for (const char* part : {"sidecar", "router", "scheduler", "-epp"}) {
    if (contains(base_name(name), part)) return std::nullopt;
  }
  if (contains(name, "vllm") || contains(name, "llm-d")) return EngineKind::vllm;
  if (contains(name, "sglang")) return EngineKind::sglang;
  if (contains(name, "tensorrt-llm") || contains(name, "tensorrtllm") || contains(name, "trtllm")) {
    return EngineKind::tensorrt_llm;
  }
  return std::nullopt;
}

PoolRole role_in(const std::string& name) {
  if (contains(name, "prefill")) return PoolRole::prefill;
  return contains(name, "decode") ? PoolRole::decode : PoolRole::aggregated;
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
    if (name == "nim-serve") return EngineCommand{EngineKind::vllm, i + 1, false, image, true};
    if (name == "trtllm-serve" && next("disaggregated")) return std::nullopt;  // a router
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
  // Images of vLLM and NIMs start the server themselves.
  if (behind_image > 0 && engine_of_image(image) == EngineKind::vllm) {
    return EngineCommand{EngineKind::vllm, behind_image, !is_nim(image), image, is_nim(image)};
  }
  return std::nullopt;
}

void add_pool(const ShellCommand& command, const EngineCommand& engine, const LaunchedPool& base,
              const ScriptContext& context, ServingLaunch& launch) {
  const Place place{context.file, command.words.front().line()};
  ServingLaunch own;
  own.engine = engine.engine;
  const std::string& image = engine.image.empty() ? context.image : engine.image;
  if (engine_of_image(image)) own.engine_version = version_in_image(image);
  const ReadNamedFile files = files_of(context);
  LaunchedPool pool = base;
  std::vector<Value> stated, weaker = context.environment;
  for (const auto& [name, value] : command.variables) {
    stated.push_back(assignment_of(name + "=" + value.text(), {context.file, value.line()}));
  }
  read_start_words(command, engine, context, stated, pool, own);
  append(weaker, exported_variables(context));
  append(weaker, stated);
  note_environment(stated, own);
  weaker = options_of_environment(own.engine, weaker);
  append(weaker, context.options);
  PoolReading reading(own, pool, files);
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
  const auto is_model = [](const Value& value) { return value.key == "--model"; };
  std::vector<Value> values;
  std::copy_if(weaker.begin(), weaker.end(), std::back_inserter(values), std::not_fn(is_model));
  append(values, options_of(command, first, context.script, context.file, words));
  reading.options(values);
  const auto model = std::find_if(weaker.rbegin(), weaker.rend(), is_model);
  if (!reading.has_model() && model != weaker.rend()) reading.model(*model);
  if (engine.nim) read_nim(engine.image, place, pool, reading, own);
  reading.finish();
  own.pools = {pool};
  join(own, launch);
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
  std::string unknown;
  const auto known = [&](const char* key) -> const Value* {
    const Value* value = values.find(key);
    if (value != nullptr && !value->unknown.empty()) unknown = value->said + ": " + value->unknown;
    return value != nullptr && value->unknown.empty() && value->words.size() == 1 ? value : nullptr;
  };
  const auto no_load = [&](const std::string& why) {
    launch.assumed.push_back({"load", "none", why, {context.file, command.words.front().line()}});
  };
  const Value* input = known("random-input-len");
  const Value* output = known("random-output-len");
  if (!unknown.empty()) return no_load(unknown);
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
    const bool has_rate = rate != nullptr && rate->words.front() != "inf";
    if (!unknown.empty()) return no_load(unknown);
    if (has_rate && users != nullptr) {
      return no_load("the benchmark's command has a rate and a limit of users");
    }
    if (has_rate) {
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
    if (!unknown.empty()) return no_load(unknown);
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
  // The service that the last command belongs to.
  ServingLaunch& last = launch.more.empty() ? launch : launch.more.back();
  std::vector<Value> unused = context.environment;
  std::erase_if(unused, [&](const Value& one) { return is_used(context.text, one.key); });
  note_environment(unused, last);
  note_environment(exported_variables(context), last);
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
