// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/pool_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "interop/read_launch/document.h"
#include "interop/serving/gone_options.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr int kDeepestConfiguration = 3;

// Options of a YAML as an engine's command would say them. TensorRT-LLM's are keys below a group,
// with its name in front.
std::vector<Value> configuration_values(EngineKind engine, const std::string& text,
                                        const std::string& name) {
  Values values = name.ends_with(".json") ? values_of_json(text, name) : values_of_yaml(text, name);
  return engine == EngineKind::tensorrt_llm ? std::move(values).all()
                                            : grouped_options(values.all());
}

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
         word == "vllm" || word == "sglang" || word == "cuda";
}

// A switch that a configuration or "--name=False" sets to false.
bool is_false(const Value& value) {
  if (value.words.size() != 1) return false;
  const std::string word = lower_case(value.words.front());
  return word == "false" || word == "0" || word == "no" || word == "off" || word == "null";
}

// The switch that "--no-NAME" sets to false, or nullptr.
const ServingOption* switched_off(EngineKind engine, const std::string& name) {
  const ServingOption* option =
      name.starts_with("no-") ? serving_option(engine, name.substr(3)) : nullptr;
  return option != nullptr && option->words == 0 ? option : nullptr;
}

// What is wrong: the table has the option and its line beside it.
std::string without_place(const std::string& what, const std::string& said) {
  const std::size_t at = what.find(said + ": ");
  return at == std::string::npos ? what : what.substr(at + said.size() + 2);
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
  std::string name = value.words.front();
  if (name.starts_with("hf://")) name.erase(0, 5);
  has_model_ = true;
  if (!launch_.model.empty() && launch_.model != name) {
    return refuse(value, fmt::format("another model than {}", launch_.model));
  }
  launch_.model = name;
  note("model", launch_.model, value);
}

// "--speculative-config.method mtp" is a member of the JSON of --speculative-config.
void PoolReading::options(const std::vector<Value>& values) {
  const auto is_member = [&](std::string_view key) {
    const std::string name = spelled(std::string(key));
    if (serving_option(launch_.engine, name) != nullptr) return false;
    const ServingOption* whole = serving_option(launch_.engine, name.substr(0, name.find('.')));
    return whole != nullptr &&
           (whole->use == OptionUse::speculation || whole->use == OptionUse::transfer);
  };
  for (const Value& value : grouped_options(values, is_member)) option(value, 0);
}

void PoolReading::option(const Value& value, int depth) {
  const std::string name = spelled(value.key);
  const ServingOption* found = serving_option(launch_.engine, name);
  const auto release =
      release_without(launch_.engine, name.starts_with("no-") ? name.substr(3) : name);
  if (!release.empty()) launch_.gone.push_back({value.said, release, value.place});
  if (value.key.starts_with('$') || value.key.starts_with('`')) {
    return refuse(value, value.unknown, OptionEffect::unknown);
  }
  const ServingOption* off = found == nullptr ? switched_off(launch_.engine, name) : nullptr;
  if (off != nullptr && off->use <= OptionUse::refused_if_on) {
    return pass(value, "switches off what changes no predicted number");
  }
  if (off != nullptr) {
    Value said = value;
    said.words = {"false"};
    return apply(*off, said, depth);
  }
  if (found == nullptr && value.key.find(' ') != std::string::npos) {
    return refuse(value, "option and value are one word here; the engine needs two, or \"=\"",
                  OptionEffect::unknown);
  }
  if (found == nullptr) {
    return refuse(value, why_unknown_option(launch_.engine, name), OptionEffect::unknown);
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
  if (use == Use::refused_but_in_prefill && pool_.role == PoolRole::prefill) {
    return pass(value, "a prefill pool must have it");
  }
  if (use == Use::refused || use == Use::refused_if_on || use == Use::refused_but_in_prefill) {
    const bool off = option.words == 0
                         ? is_false(value)
                         : use == Use::refused_if_on && !value.words.empty() && is_off(value);
    const bool usual = off || (use == Use::refused_if_on && value.words.size() == 1 &&
                               is_usual(lower_case(value.words[0])));
    if (usual) return pass(value, "is off, or the engine's default");
    return refuse(value, std::string(option.why), option.effect);
  }
  if (use == Use::refused_if_off) {
    if (is_false(value)) return refuse(value, std::string(option.why), option.effect);
    return pass(value, "the engine's default, which its file holds");
  }
  if (use == Use::configuration) return configuration(value, depth);
  if (use == Use::compilation) return compilation(value);
  if (use == Use::model_overrides) return model_overrides(value);
  if (use == Use::positions) {
    launch_.longer_positions = true;
    return pass(value, "length of the model; its shape stays");
  }
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

void PoolReading::configuration(const Value& value, int depth) {
  const std::string name = word_of(value);
  if (depth >= kDeepestConfiguration) return refuse(value, "configurations name each other");
  const auto text = files_ ? files_(name) : std::nullopt;
  if (!text) return refuse(value, "the file is not there to be read", OptionEffect::unknown);
  note("configuration", name, value);
  for (const Value& each : configuration_values(launch_.engine, *text, name)) {
    option(each, depth + 1);
  }
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
