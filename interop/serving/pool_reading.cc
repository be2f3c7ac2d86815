// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/pool_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "interop/read_launch/document.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr IntRange kRanks{1, 100'000};
constexpr IntRange kTokens{1, 100'000'000};
constexpr int kDeepestConfiguration = 3;

// Options of a YAML as an engine's command would say them: below a group, with its name in front.
std::vector<Value> configuration_values(const std::string& text, const std::string& name) {
  return name.ends_with(".json") ? values_of_json(text, name).all()
                                 : values_of_yaml(text, name).all();
}

struct FormatName {
  std::string_view word;
  WeightFormat format;
};
// Of --quantization. Names without a format of their own are the checkpoint's.
constexpr std::array kQuantizations{FormatName{"fp8", WeightFormat::fp8},
                                    FormatName{"deepseek_v4_fp8", WeightFormat::fp8_block},
                                    FormatName{"w8a8_fp8", WeightFormat::fp8},
                                    FormatName{"mxfp8", WeightFormat::mxfp8},
                                    FormatName{"modelopt_fp4", WeightFormat::nvfp4},
                                    FormatName{"nvfp4", WeightFormat::nvfp4},
                                    FormatName{"mxfp4", WeightFormat::mxfp4},
                                    FormatName{"awq", WeightFormat::int4},
                                    FormatName{"awq_marlin", WeightFormat::int4},
                                    FormatName{"gptq", WeightFormat::int4},
                                    FormatName{"gptq_marlin", WeightFormat::int4},
                                    FormatName{"modelopt", WeightFormat::fp8}};

struct ExchangeName {
  std::string_view word;
  ExpertExchange exchange;
};
constexpr std::array kExchanges{
    ExchangeName{"allgather_reducescatter", ExpertExchange::all_gather_reduce_scatter},
    ExchangeName{"deepep_low_latency", ExpertExchange::deepep_low_latency},
    ExchangeName{"deepep_high_throughput", ExpertExchange::deepep_high_throughput},
    ExchangeName{"low_latency", ExpertExchange::deepep_low_latency},
    ExchangeName{"normal", ExpertExchange::deepep_high_throughput}};

// What engines do without being asked.
bool is_usual(const std::string& word) {
  return word == "pytorch" || word == "fcfs" || word == "guaranteed_no_evict" || word == "auto" ||
         word == "vllm" || word == "sglang";
}

// A switch that a configuration or "--name=False" sets to false.
bool is_false(const Value& value) {
  if (value.words.size() != 1) return false;
  const std::string word = lower_case(value.words.front());
  return word == "false" || word == "0" || word == "no" || word == "off" || word == "null";
}

// "--no-NAME" of a switch that changes no predicted number.
bool is_switched_off(EngineKind engine, const Value& value) {
  const std::string name = spelled(value.key);
  if (!name.starts_with("no-")) return false;
  const ServingOption* option = serving_option(engine, name.substr(3));
  return option != nullptr && option->use == OptionUse::nothing && option->words == 0;
}

// What is wrong: the table has the option and its line beside it.
std::string without_place(const std::string& what, const std::string& said) {
  const std::size_t at = what.find(said + ": ");
  return at == std::string::npos ? what : what.substr(at + said.size() + 2);
}

constexpr std::string_view kNodes = "address of the nodes; their number follows from the sizes";
constexpr std::string_view kKernels =
    "choice of kernels: step times are fitted over launch commands that choose them; bytes stay";

// vLLM's "32k" is 32,000 and its "32K" 32,768. Other words stay.
std::string without_suffix(const std::string& word) {
  constexpr std::string_view kSuffixes = "kKmM";
  constexpr std::array kFactors{1e3, 1024.0, 1e6, 1024.0 * 1024.0};
  const std::size_t which = word.empty() ? std::string_view::npos : kSuffixes.find(word.back());
  if (which == std::string_view::npos) return word;
  double number = 0;
  const char* const end = word.data() + word.size() - 1;
  const auto [stopped, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stopped != end || !(number > 0) || number > 1e9) return word;
  return std::to_string(std::llround(number * kFactors[which]));
}

// Keys of a model's configuration that change no size and no cost.
bool is_harmless_override(const std::string& key) {
  constexpr std::array kHarmless{"rope_scaling",
                                 "rope_parameters",
                                 "rope_theta",
                                 "max_position_embeddings",
                                 "max_model_len",
                                 "model_max_length",
                                 "original_max_position_embeddings",
                                 "architectures",
                                 "eos_token_id",
                                 "bos_token_id",
                                 "pad_token_id"};
  const std::string first = key.substr(0, key.find('.'));
  return std::find(kHarmless.begin(), kHarmless.end(), first) != kHarmless.end();
}

// "--compilation-config.cudagraph-mode" -> "cudagraph_mode"; "" without a dot.
std::string key_below(const std::string& key) {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? "" : replaced(key.substr(dot + 1), "-", "_");
}

}  // namespace

void PoolReading::note(const char* field, const std::string& said, const Value& value) {
  launch_.read.push_back({field, said, value.said, value.place});
}
void PoolReading::pass(const Value& value, std::string_view why) {
  launch_.passed_over.push_back({value.said, std::string(why), value.place});
}
void PoolReading::refuse(const Value& value, const std::string& why, OptionEffect effect) {
  launch_.not_understood.push_back(
      {.said = value.said, .why = why, .place = value.place, .effect = effect, .key = value.key});
}

void PoolReading::model(const Value& value) {
  if (value.words.empty()) return refuse(value, "names no model");
  if (!launch_.model.empty() && launch_.model != value.words.front()) {
    return refuse(value, fmt::format("another model than {}", launch_.model));
  }
  launch_.model = value.words.front();
  note("model", launch_.model, value);
}

void PoolReading::options(const std::vector<Value>& values) {
  for (const Value& value : values) option(value, 0);
}

void PoolReading::option(const Value& value, int depth) {
  const ServingOption* found = serving_option(launch_.engine, spelled(value.key));
  if (value.key.starts_with('$') || value.key.starts_with('`')) {
    return refuse(value, value.unknown, OptionEffect::unknown);
  }
  if (found == nullptr && is_switched_off(launch_.engine, value)) {
    return pass(value, "switches off what changes no predicted number");
  }
  if (found == nullptr && value.key.find(' ') != std::string::npos) {
    return refuse(value, "option and value are one word here; the engine needs two, or \"=\"",
                  OptionEffect::unknown);
  }
  if (found == nullptr) {
    return refuse(value, fmt::format("is no known option of {}", title_of(launch_.engine)),
                  OptionEffect::unknown);
  }
  Value own = value;
  const auto most = static_cast<std::size_t>(found->words);
  // "--flag true" of a configuration, or a word behind a switch that belongs to nothing.
  const bool is_flag_word = most == 0 && own.words.size() == 1 && own.unknown.empty() &&
                            (is_off(own) || lower_case(own.words[0]) == "true");
  if (own.words.size() > most && !is_flag_word) {
    for (std::size_t i = most; i < own.words.size(); ++i) {
      Value extra = value;
      extra.words = {own.words[i]};
      extra.said = own.words[i];
      extra.unknown.clear();
      if (launch_.model.empty()) {
        model(extra);
      } else {
        refuse(extra, "stands behind no option", OptionEffect::unknown);
      }
    }
    own.words.resize(most);
  }
  if (own.words.empty() && most > 0) return refuse(own, "has no value");
  try {
    apply(*found, own, depth);
  } catch (const InputError& error) {
    refuse(own, without_place(error.what(), own.said));
  }
}

void PoolReading::apply(const ServingOption& option, const Value& value, int depth) {
  using Use = OptionUse;
  const Use use = option.use;
  if (use == Use::nothing) return pass(value, option.why);
  if (use == Use::node_rank || use == Use::follower || use == Use::other_nodes) {
    return nodes(use, value);
  }
  if (use == Use::model) return model(value);
  if (!value.unknown.empty()) return refuse(value, value.unknown, OptionEffect::unknown);
  if (use == Use::refused || use == Use::refused_if_on) {
    const bool off = option.words == 0
                         ? is_false(value)
                         : use == Use::refused_if_on && !value.words.empty() && is_off(value);
    const bool usual = off || (use == Use::refused_if_on && value.words.size() == 1 &&
                               is_usual(lower_case(value.words[0])));
    if (usual) return pass(value, "is off, or the engine's default");
    return refuse(value, std::string(option.why));
  }
  if (use == Use::refused_if_off) {
    if (is_false(value)) return refuse(value, std::string(option.why));
    return pass(value, "the engine's default, which its file holds");
  }
  if (use == Use::configuration) return configuration(value, depth);
  if (use == Use::compilation) return compilation(value);
  if (use == Use::model_overrides) return model_overrides(value);
  if (use == Use::role) return role(value);
  if (use == Use::prefill_worker || use == Use::decode_worker) {
    if (!flag_of(value)) return pass(value, "is off, or the engine's default");
    pool_.role = use == Use::prefill_worker ? PoolRole::prefill : PoolRole::decode;
    return note("role", std::string(name_of(pool_.role)), value);
  }
  if (use == Use::transfer) return transfer(value);
  if (use == Use::exchange) return exchange(value);
  if (use <= Use::context) return sizes(use, value);
  if (use <= Use::no_custom_all_reduce) return limits(use, value);
  if (use <= Use::no_prefix_caching) return formats(use, value);
  drafts(use, value);
}

// A process of rank 0 leads its replica; others belong to it.
void PoolReading::nodes(OptionUse use, const Value& value) {
  using Use = OptionUse;
  const bool known = value.unknown.empty() && value.words.size() == 1;
  const std::string word = known ? lower_case(value.words[0]) : "";
  if (use == Use::follower) {
    pool_.follows = pool_.follows || value.words.empty() || flag_of(value);
  } else if (use == Use::node_rank) {
    if (known) pool_.follows = pool_.follows || integer_of(value, {0, 100'000}) > 0;
  } else if (word == "mp" || word == "uni" || word == "1") {
    return pass(value, "how worker processes are started");
  }
  pool_.spans_nodes = true;
  pass(value, kNodes);
}

void PoolReading::sizes(OptionUse use, const Value& value) {
  using Use = OptionUse;
  const bool is_switch = use == Use::expert_switch || use == Use::data_attention;
  if (is_switch) {
    const bool on = flag_of(value);
    if (use == Use::expert_switch) pool_.expert_parallel = on;
    if (use == Use::data_attention) data_attention_ = on;
    return note(use == Use::expert_switch ? "expert_parallel" : "attention_data_parallel",
                on ? "true" : "false", value);
  }
  const int count = integer_of(value, kRanks);
  const char* field = "tensor_parallel_size";
  if (use == Use::tensor) {
    tensor_ = count;
  } else if (use == Use::pipeline) {
    field = "pipeline_parallel_size";
    pool_.options.layout.pipeline_parallel_size = count;
  } else if (use == Use::data) {
    field = "data_parallel_size";
    data_ = count;
  } else if (use == Use::expert_ranks) {
    field = "expert_parallel_size";
    experts_ = count;
  } else {
    field = "decode_context_parallel_size";
    pool_.options.layout.decode_context_parallel_size = count;
  }
  note(field, std::to_string(count), value);
}

void PoolReading::limits(OptionUse use, const Value& value) {
  using Use = OptionUse;
  ReplicaOptions& o = pool_.options;
  if (use == Use::memory_fraction) {
    o.memory_fraction = number_of(value, {.low = 0.0, .high = 1.0, .low_excluded = true});
    if (*o.memory_fraction <= 0.0) fail_at(value, "must be above 0");
    return note("memory_fraction", number_text(*o.memory_fraction), value);
  }
  if (use == Use::eager || use == Use::not_eager) {
    o.enforce_eager = flag_of(value) == (use == Use::eager);
    return note("enforce_eager", o.enforce_eager ? "true" : "false", value);
  }
  if (use == Use::no_custom_all_reduce) {
    pool_.custom_all_reduce = !flag_of(value);
    return note("custom_all_reduce", pool_.custom_all_reduce ? "true" : "false", value);
  }
  if (use == Use::graph_sizes) {
    int most = 0;
    for (const std::string& word : value.words) {
      for (const std::string& part : split(replaced(replaced(word, "[", ""), "]", ""), ',')) {
        Value one = value;
        one.words = {part};
        most = std::max(most, integer_of(one, kTokens));
      }
    }
    pool_.graph_max_batch = most;
    return note("graph_max_batch", std::to_string(most), value);
  }
  // SGLang: -1 leaves prompts whole.
  if (use == Use::max_num_batched_tokens && value.words.front() == "-1") {
    return refuse(value, "prompts are not cut into chunks, which the engine's file does not hold");
  }
  const std::string said = lower_case(value.words.front());
  if (use == Use::max_model_len && (said == "auto" || said == "-1")) {
    return refuse(value, "the length follows from the memory", OptionEffect::memory);
  }
  Value plain = value;
  const bool is_limit = use == Use::max_model_len || use == Use::max_num_batched_tokens;
  if (launch_.engine == EngineKind::vllm && is_limit) {
    plain.words.front() = without_suffix(plain.words.front());
  }
  const int count = integer_of(plain, kTokens);
  const char* field = "graph_max_batch";
  int* target = &pool_.graph_max_batch;
  if (use == Use::max_num_seqs) {
    field = "max_num_seqs";
    target = &o.max_num_seqs;
  } else if (use == Use::max_num_batched_tokens) {
    field = "max_num_batched_tokens";
    target = &o.max_num_batched_tokens;
  } else if (use == Use::max_model_len) {
    field = "max_model_len";
    target = &o.max_model_len;
  } else if (use == Use::block_size) {
    field = "block_size";
    target = &o.block_size;
  }
  *target = count;
  note(field, std::to_string(count), value);
}

void PoolReading::formats(OptionUse use, const Value& value) {
  using Use = OptionUse;
  if (use == Use::prefix_caching || use == Use::no_prefix_caching) {
    launch_.prefix_caching = flag_of(value) == (use == Use::prefix_caching);
    return note("prefix_caching", *launch_.prefix_caching ? "true" : "false", value);
  }
  const std::string word = word_of(value);
  if (use == Use::kv_cache) {
    KvCacheFormat& format = pool_.options.kv_cache;
    if (word == "auto") return pass(value, "the model's format, as without it");
    if (word == "fp8" || word == "fp8_e4m3" || word == "fp8_e5m2") {
      format = KvCacheFormat::fp8;
    } else if (word == "bfloat16" || word == "bf16" || word == "float16" || word == "fp16") {
      format = KvCacheFormat::bf16;
    } else if (word == "fp8_ds_mla") {
      format = KvCacheFormat::fp8_ds_mla;
    } else if (word == "nvfp4" || word == "fp4_e2m1") {
      format = KvCacheFormat::nvfp4;
    } else {
      return refuse(value, "is no known format of the cache", OptionEffect::precision);
    }
    launch_.kv_cache_said = true;
    return note("kv_cache", std::string(name_of(format)), value);
  }
  if (use == Use::data_type) {
    if (word == "auto" || word == "bfloat16" || word == "float16" || word == "half") {
      return pass(value, "16-bit activations, as every engine's file holds");
    }
    return refuse(value, "activations of another width", OptionEffect::precision);
  }
  for (const auto& [name, format] : kQuantizations) {
    if (name != word) continue;
    launch_.weights = format;
    return note("weights", std::string(name_of(format)), value);
  }
  refuse(value, "is no known format of weights", OptionEffect::precision);
}

void PoolReading::drafts(OptionUse use, const Value& value) {
  using Use = OptionUse;
  if (use == Use::speculation) return speculation(value);
  if (use == Use::speculation_method) {
    const std::string word = lower_case(word_of(value));
    drafts_ = word != "none";
    if (word == "ngram" || word == "lookahead" || word == "user_provided") {
      return refuse(value, "drafts without a model");
    }
    return note("speculation", word, value);
  }
  const int count = integer_of(value, {1, 1000});
  pool_.options.num_speculative_tokens = use == Use::draft_tokens ? count - 1 : count;
  draft_tokens_said_ = true;
  note("num_speculative_tokens", std::to_string(pool_.options.num_speculative_tokens), value);
}

void PoolReading::speculation(const Value& value) {
  Values json = values_of_json(word_of(value), value.place.file);
  int count = 0;
  for (const Value& part : json.all()) {
    if (part.key == "num_speculative_tokens") {
      count = integer_of(part, {1, 1000});
    } else if (part.key == "method" && !part.words.empty() && part.words[0] == "ngram") {
      return refuse(value, "drafts without a model");
    } else if (part.key == "draft_tensor_parallel_size" || part.key == "method" ||
               part.key == "model" || part.key == "attention_backend" ||
               part.key == "quantization" || part.key == "use_local_argmax_reduction") {
      continue;
    } else {
      return refuse(value, fmt::format("has \"{}\", which is not known", part.key));
    }
  }
  if (count == 0) return refuse(value, "does not say num_speculative_tokens");
  pool_.options.num_speculative_tokens = count;
  note("num_speculative_tokens", std::to_string(count), value);
}

void PoolReading::role(const Value& value) {
  const std::string word = lower_case(word_of(value));
  if (word == "prefill" || word == "context") {
    pool_.role = PoolRole::prefill;
  } else if (word == "decode" || word == "generation") {
    pool_.role = PoolRole::decode;
  } else if (word == "null" || word == "none" || word == "aggregated" || word == "agg" ||
             word == "prefill_and_decode") {
    pool_.role = PoolRole::aggregated;
  } else {
    return refuse(value, "is no known role of a pool");
  }
  note("role", std::string(name_of(pool_.role)), value);
}

// kv_both does not tell the pools apart: the manifest's or the command's role stays.
void PoolReading::transfer(const Value& value) {
  Values json = values_of_json(word_of(value), value.place.file);
  std::string role, connector;
  if (const Value* found = json.find("kv_role")) role = word_of(*found);
  if (const Value* found = json.find("kv_connector")) connector = word_of(*found);
  if (connector.starts_with("Offloading") || connector.starts_with("LMCache") ||
      connector.starts_with("Multi")) {
    return refuse(value, "the cache lies in memory of the host, too", OptionEffect::memory);
  }
  if (role == "kv_producer") pool_.role = PoolRole::prefill;
  if (role == "kv_consumer") pool_.role = PoolRole::decode;
  if (role.empty()) return refuse(value, "does not say kv_role");
  note("role", std::string(name_of(pool_.role)), value);
}

void PoolReading::exchange(const Value& value) {
  const std::string word = word_of(value);
  if (word == "none" || word == "auto") return pass(value, "the engine's default");
  // SGLang names the library, and its mode by another option.
  if (word == "deepep") {
    if (pool_.options.exchange == ExpertExchange::automatic) {
      pool_.options.exchange = ExpertExchange::deepep_low_latency;
    }
    experts_ = -1;
    return note("exchange", std::string(name_of(pool_.options.exchange)), value);
  }
  for (const auto& [name, exchange] : kExchanges) {
    if (name != word) continue;
    pool_.options.exchange = exchange;
    return note("exchange", std::string(name_of(exchange)), value);
  }
  refuse(value, "is no exchange of experts that is modelled");
}

// Graphs and the level of compilation; other keys choose kernels.
void PoolReading::compilation(const Value& value) {
  const std::string below = key_below(spelled(value.key));
  if (!below.empty()) return compilation_part(below, value, value);
  const std::string word = word_of(value);
  if (!word.starts_with('{')) return compilation_part("level", value, value);
  const Values json = values_of_json(word, value.place.file);
  for (const Value& part : json.all()) compilation_part(part.key, part, value);
}

void PoolReading::compilation_part(const std::string& key, const Value& part, const Value& whole) {
  const std::string word = part.words.size() == 1 ? lower_case(part.words.front()) : "";
  const bool no_graphs = (key == "cudagraph_mode" && (word == "none" || word == "0")) ||
                         (key == "cudagraph_capture_sizes" && part.words.empty()) ||
                         (key == "use_cudagraph" && !flag_of(part));
  if (no_graphs) {
    pool_.options.enforce_eager = true;
    return note("enforce_eager", "true", whole);
  }
  if (key == "cudagraph_capture_sizes" || key == "max_capture_size" ||
      key == "max_cudagraph_capture_size") {
    Value sizes = part;
    sizes.said = whole.said;
    sizes.place = whole.place;
    return limits(OptionUse::graph_sizes, sizes);
  }
  const bool is_level = key == "level" || key == "mode";
  const bool less =
      is_level && (word == "0" || word == "1" || word == "none" || word == "stock_torch_compile");
  if (less || (key == "backend" && word == "eager")) {
    return refuse(whole, fmt::format("\"{}\": less is compiled than by the engine's default", key));
  }
  pass(whole, kKernels);
}

void PoolReading::model_overrides(const Value& value) {
  const std::string below = key_below(spelled(value.key));
  std::string changed = is_harmless_override(below) ? "" : below;
  if (below.empty()) {
    const Values json = values_of_json(word_of(value), value.place.file);
    for (const Value& part : json.all()) {
      if (!is_harmless_override(part.key)) changed = part.key;
    }
  }
  if (changed.empty()) return pass(value, "length and names of the model; its shape stays");
  refuse(
      value,
      fmt::format("changes \"{}\" of the model: give the changed config.json by --model", changed),
      OptionEffect::sizes);
}

void PoolReading::configuration(const Value& value, int depth) {
  const std::string name = word_of(value);
  if (depth >= kDeepestConfiguration) return refuse(value, "configurations name each other");
  const auto text = files_ ? files_(name) : std::nullopt;
  if (!text) return refuse(value, "the file is not there to be read", OptionEffect::unknown);
  note("configuration", name, value);
  for (const Value& each : configuration_values(*text, name)) option(each, depth + 1);
}

void PoolReading::finish() {
  ReplicaLayout& layout = pool_.options.layout;
  layout.tensor_parallel_size = tensor_;
  const auto fault = [&](const std::string& said, const std::string& why) {
    launch_.not_understood.push_back(
        {.said = said, .why = why, .place = {}, .effect = OptionEffect::sizes});
  };
  if (launch_.engine == EngineKind::vllm) {
    layout.data_parallel_size = data_;
    if (pool_.expert_parallel) layout.expert_parallel_size = tensor_ * data_;
    return;
  }
  if (launch_.engine == EngineKind::tensorrt_llm && data_attention_) data_ = tensor_;
  if (data_attention_) {
    if (tensor_ % data_ != 0) {
      fault("data_parallel_size " + std::to_string(data_),
            fmt::format("must divide the tensor-parallel size {}", tensor_));
      return;
    }
    layout.data_parallel_size = data_;
    layout.tensor_parallel_size = tensor_ / data_;
  } else {
    pool_.replicas *= data_;  // whole copies behind one address
    pool_.copies = data_;
  }
  layout.expert_parallel_size = experts_ < 0 ? tensor_ : std::max(1, experts_);
  if (drafts_ && !draft_tokens_said_) {
    fault("speculation", "the number of draft tokens is not said");
  }
}

}  // namespace meshwright::interop
