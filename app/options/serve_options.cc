// SPDX-License-Identifier: Apache-2.0
#include "app/options/serve_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/serving_files.h"
#include "app/options/command.h"
#include "interop/tables/csv.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"

namespace meshwright::app {
namespace {

template <typename Enum, std::size_t N>
Enum value_named(const std::array<EnumName<Enum>, N>& names, const std::string& option,
                 const std::string& word) {
  std::vector<std::string> known;
  for (const auto& entry : names) {
    if (entry.name == word) return entry.value;
    known.emplace_back(entry.name);
  }
  throw InputError(option, "",
                   fmt::format("unknown value \"{}\"; expected {}", word, fmt::join(known, ", ")),
                   did_you_mean(word, known));
}

std::optional<double> whole_text_as_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

// The place of the first of these columns.
std::optional<std::size_t> column_of(const interop::CsvTable& table,
                                     std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = std::find(table.columns.begin(), table.columns.end(), name);
    if (found != table.columns.end()) {
      return static_cast<std::size_t>(found - table.columns.begin());
    }
  }
  return std::nullopt;
}
constexpr std::initializer_list<const char*> kInputColumns{"input_tokens", "input_length"};
constexpr std::initializer_list<const char*> kOutputColumns{"output_tokens", "output_length"};

double cell_number(const interop::CsvTable& table, std::size_t row, std::size_t column,
                   double least, const char* allowed) {
  const auto& cells = table.rows[row];
  const std::string text = column < cells.size() ? cells[column] : "";
  const auto value = whole_text_as_number(text);
  if (value && *value >= least) return *value;
  throw InputError(fmt::format("{}:{}", table.file, table.lines[row]), "",
                   fmt::format("{} must be {} (got \"{}\")", table.columns[column], allowed, text));
}

int cell_count(const interop::CsvTable& table, std::size_t row, std::size_t column, double least,
               const char* allowed) {
  constexpr double kMost = 1e9;
  const double value = cell_number(table, row, column, least, allowed);
  if (value <= kMost) return static_cast<int>(value);
  throw InputError(fmt::format("{}:{}", table.file, table.lines[row]), "",
                   fmt::format("{} must be at most 1,000,000,000 (got \"{}\")",
                               table.columns[column], table.rows[row][column]));
}

std::vector<RequestLength> lengths_in(const interop::CsvTable& table) {
  const auto input = column_of(table, kInputColumns), output = column_of(table, kOutputColumns);
  if (!input || !output) {
    throw InputError(table.file, "", "has no columns input_tokens and output_tokens");
  }
  if (table.rows.empty()) throw InputError(table.file, "", "holds no requests");
  const auto priority = column_of(table, {"priority"}), prompt = column_of(table, {"prompt"});
  std::vector<std::string> prompts{""};
  std::vector<RequestLength> list;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    constexpr const char* kAllowed = "a whole number of tokens above 0";
    RequestLength& one = list.emplace_back();
    one.input = cell_count(table, i, *input, 1, kAllowed);
    one.output = cell_count(table, i, *output, 1, kAllowed);
    if (priority) {
      one.priority = cell_count(table, i, *priority, -1e9, "a number; lower ones come first");
    }
    if (prompt && *prompt < table.rows[i].size()) {
      const std::string& name = table.rows[i][*prompt];
      const auto known = std::find(prompts.begin(), prompts.end(), name);
      one.prompt = static_cast<int>(known - prompts.begin()) - 1;
      if (known == prompts.end()) prompts.push_back(name);
    }
  }
  return list;
}

void read_arrivals(ServingLoad& load, const std::string& file, reports::Origin* origin) {
  const interop::CsvTable table =
      interop::read_csv(read_text_input("arrivals", file, origin), file);
  const auto column = column_of(table, {"arrival_s"});
  if (!column) throw InputError(file, "", "has no column arrival_s");
  if (table.rows.empty()) throw InputError(file, "", "holds no arrivals");
  load.kind = LoadKind::arrivals;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const Seconds when = seconds(cell_number(table, i, *column, 0, "seconds, 0 or more"));
    if (!load.arrivals.empty() && when < load.arrivals.back()) {
      throw InputError(
          fmt::format("{}:{}", file, table.lines[i]), "",
          fmt::format("arrival_s {} comes before the {} of the row above",
                      number_text(when.value(), 9), number_text(load.arrivals.back().value(), 9)),
          "sort the rows by arrival_s");
    }
    load.arrivals.push_back(when);
  }
  if (column_of(table, kInputColumns) && column_of(table, kOutputColumns)) {
    load.lengths.kind = LengthKind::list;
    load.lengths.list = lengths_in(table);
  }
}

void set_lengths(ServingLoad& load, const LoadOptions& o, reports::Origin* origin) {
  load.lengths.input = o.input;
  load.lengths.output = o.output;
  if (o.least_share && *o.least_share < 1.0) {
    load.lengths.kind = LengthKind::uniform;
    load.lengths.least_share = *o.least_share;
  }
  if (!o.lengths.empty()) {
    load.lengths.kind = LengthKind::list;
    load.lengths.list =
        lengths_in(interop::read_csv(read_text_input("lengths", o.lengths, origin), o.lengths));
  }
}

// The format of a checkpoint whose user states none. Throws InputError if it is not known.
WeightFormat stored_format(const std::string& model, const ServedModel& served) {
  if (served.weights_from.empty()) return WeightFormat::bf16;
  if (!served.weights) {
    throw InputError("--weights", "",
                     fmt::format("is missing: the {} of {} has a format that is not known",
                                 served.weights_from, model),
                     "bf16, fp8, fp8_block, mxfp8, int4, mxfp4 or nvfp4");
  }
  say("{}: weights are {}, as its {} states. --weights overrides it.\n", model,
      name_of(*served.weights), served.weights_from);
  return *served.weights;
}

}  // namespace

ReplicaLayout replica_layout_of(const ServeSizes& sizes, const Engine& engine) {
  ReplicaLayout layout{sizes.tensor, sizes.pipeline, sizes.data, sizes.experts, sizes.context};
  if (!engine.tensor_size_counts_data_ranks || sizes.data == 1) return layout;
  if (sizes.tensor % sizes.data != 0) {
    throw InputError("--dp", "",
                     fmt::format("must divide --tp {} ({} counts attention's data ranks in --tp), "
                                 "is {}",
                                 sizes.tensor, engine.name, sizes.data));
  }
  layout.tensor_parallel_size = sizes.tensor / sizes.data;
  return layout;
}

void check_request_length(int input, int output, const ServeFormats& formats, const Model& model) {
  const int limit = model.max_position_embeddings;
  const auto refuse = [&](const char* option, int value) {
    throw InputError(
        option, "",
        fmt::format("must be at most the {} positions of {}, is {}", limit, model.name, value),
        "use shorter prompts or answers, or a model with longer contexts");
  };
  if (limit <= 0) return;
  if (formats.max_model_len > limit) refuse("--max-model-len", formats.max_model_len);
  if (input + output > limit) refuse("--isl + --osl", input + output);
  if (formats.max_model_len > 0 && input + output > formats.max_model_len) {
    throw InputError("--isl + --osl", "",
                     fmt::format("must be at most --max-model-len {}, is {}", formats.max_model_len,
                                 input + output));
  }
}

ServingScenario serving_scenario(const std::string& model_name, const std::string& cluster,
                                 const std::string& engine, const ServeFormats& formats,
                                 reports::Origin* origin, std::optional<WeightFormat>* stored) {
  ServedModel served = load_served_model(model_name, origin);
  if (stored != nullptr) *stored = served.weights;
  ServingScenario scenario{std::move(served.model),
                           load_serving_cluster(cluster, origin),
                           load_engine(engine, origin),
                           {}};
  const Model& model = scenario.model;
  if (!has_kv_layout(model)) {
    throw InputError(
        model_name, "",
        fmt::format("has no known key-value layout: num_attention_heads {}, "
                    "num_query_groups {}, kv_channels {}; each must be above 0, and a layer must "
                    "attend",
                    model.num_attention_heads, model.num_query_groups, model.kv_channels),
        "serve needs a model whose layers hold keys and values");
  }
  if (formats.memory_fraction &&
      !(*formats.memory_fraction > 0.0 && *formats.memory_fraction <= 1.0)) {
    throw InputError(
        "--memory-fraction", "",
        fmt::format("must be above 0 and at most 1, is {}", number_text(*formats.memory_fraction)));
  }
  ReplicaOptions& options = scenario.options;
  options.weights = usual_scheme(
      formats.weights.empty() ? stored_format(model_name, served)
                              : value_named(kWeightFormatNames, "--weights", formats.weights),
      model);
  options.kv_cache = value_named(kKvCacheFormatNames, "--kv-cache", formats.kv_cache);
  options.exchange = value_named(kExpertExchangeNames, "--expert-exchange", formats.exchange);
  if (options.exchange == ExpertExchange::nvlink_all_to_all &&
      scenario.engine.exchange != ExpertExchange::nvlink_all_to_all) {
    throw InputError("--expert-exchange", "",
                     fmt::format("nvlink_all_to_all is TensorRT-LLM's, and the engine is {}",
                                 scenario.engine.name),
                     "use auto or allgather_reducescatter");
  }
  options.memory_fraction = formats.memory_fraction;
  options.max_num_seqs = formats.max_num_seqs;
  options.max_num_batched_tokens = formats.max_num_batched_tokens;
  options.max_model_len = formats.max_model_len;
  options.block_size = formats.block_size;
  options.num_speculative_tokens = formats.speculative_tokens;
  options.enforce_eager = formats.enforce_eager;
  return scenario;
}

std::vector<std::string> serving_notes(const ServeFormats& formats,
                                       const ServingScenario& scenario) {
  std::vector<std::string> notes;
  const Device& device = only_device(scenario.cluster);
  if (scenario.cluster.inference.source.empty()) {
    notes.push_back(
        fmt::format("{} has no measured inference kernels; rates fitted over other chips are used.",
                    device.name));
  }
  if (formats.speculative_tokens > 0 && !formats.acceptance) {
    notes.emplace_back(
        "One token per step is counted. Use --acceptance to count those that drafts add.");
  }
  return notes;
}

void add_serve_sizes(Command& command, ServeSizes& sizes) {
  const auto count = [&](const char* name, int& value, const char* about) {
    command.options()
        .add_option(name, value, about)
        ->check(CLI::Range(1, 1'000'000'000).description(""));
  };
  count("--tp,--tensor-parallel-size", sizes.tensor, "Tensor-parallel size. Default: 1");
  count("--pp,--pipeline-parallel-size", sizes.pipeline, "Pipeline stages. Default: 1");
  count("--dp,--data-parallel-size", sizes.data,
        "Attention's data ranks, which share experts (SGLang and TensorRT-LLM: part of --tp). "
        "Default: 1");
  count("--ep,--expert-parallel-size", sizes.experts, "Ranks that share the experts. Default: 1");
  count("--dcp,--decode-context-parallel-size", sizes.context,
        "Tensor ranks that share a context (vLLM). Default: 1");
}

CLI::Option* add_served_model(Command& command, std::string& model) {
  return command.reads("--model", model,
                       "Model: a file, a Hugging Face config.json, or a name from configs/models",
                       "models");
}

void add_serving_engine(Command& command, std::string& engine) {
  command.reads("--engine", engine,
                "Engine: a file, or a name from configs/engines. Default: vllm-0.32", "engines");
}

void add_serve_subject(Command& command, ServeSubject subject) {
  add_served_model(command, subject.model)->required();
  command
      .reads("--cluster", subject.cluster,
             "Cluster: a file, a measured profile, or a name from configs/clusters", "clusters")
      ->required();
  add_serving_engine(command, subject.engine);
}

void add_serve_formats(Command& command, ServeFormats& formats) {
  CLI::App& app = command.options();
  const auto count = [&](const char* name, int& value, const char* about) {
    app.add_option(name, value, about)->check(CLI::Range(1, 1'000'000'000).description(""));
  };
  app.add_option("--weights", formats.weights,
                 "Format of the weights: bf16, fp8, fp8_block, mxfp8, int4, mxfp4 or nvfp4. "
                 "Default: the checkpoint's, as its name, its quantization_config or the shipped "
                 "model states, else bf16");
  app.add_option("--kv-cache", formats.kv_cache,
                 "Format of the cache: bf16, fp8, fp8_ds_mla or nvfp4. Default: bf16");
  app.add_option("--expert-exchange", formats.exchange,
                 "How tokens reach experts of data ranks: auto, allgather_reducescatter, "
                 "deepep_low_latency, deepep_high_throughput or nvlink_all_to_all. Default: auto");
  app.add_option("--memory-fraction", formats.memory_fraction,
                 "gpu_memory_utilization, mem_fraction_static or free_gpu_memory_fraction. "
                 "Default: the engine's");
  count("--max-num-seqs", formats.max_num_seqs,
        "Running sequences, at most. Default: the engine's");
  count("--max-num-batched-tokens", formats.max_num_batched_tokens,
        "Tokens of a step, at most. Default: the engine's");
  count("--max-model-len", formats.max_model_len,
        "Tokens of a request, at most. Default: the model's");
  count("--block-size", formats.block_size,
        "Tokens of a block of the cache. Default: the engine's");
  count("--speculative-tokens", formats.speculative_tokens, "Draft tokens per step. Default: none");
  app.add_option("--acceptance", formats.acceptance,
                 "Share of drafts that are accepted, 0 to 1. Default: none is counted")
      ->check(CLI::Range(0.0, 1.0).description(""));
  app.add_flag("--enforce-eager", formats.enforce_eager, "Run without CUDA graphs");
  command.only_with("--acceptance", "--speculative-tokens");
}

void add_loop_options(Command& command, std::optional<double>& concurrency,
                      std::optional<double>& rate) {
  CLI::App& app = command.options();
  must_be_positive(app.add_option("--concurrency", concurrency,
                                  "Closed loop: users with one request at a time each"));
  must_be_positive(app.add_option("--rate", rate, "Open loop: requests that arrive in a second"));
  command.never_with("--rate", {"--concurrency"});
}

void add_load_options(Command& command, LoadOptions& o) {
  CLI::App& app = command.options();
  const auto count = [&](const char* name, int& value, const char* about) {
    return app.add_option(name, value, about)->check(CLI::Range(1, 1'000'000'000).description(""));
  };
  count("--isl", o.input, "Tokens of a prompt. Default: 1024");
  count("--osl", o.output, "Tokens of an answer. Default: 1024");
  app.add_option(
         "--random-range-ratio", o.least_share,
         "Lengths are uniform from this share of --isl and --osl up to them. Default: fixed")
      ->check(CLI::Range(0.0, 1.0).description(""));
  command.reads("--lengths", o.lengths,
                "CSV with columns input_tokens and output_tokens, taken in turn. Default: --isl "
                "and --osl");
  add_loop_options(command, o.concurrency, o.rate);
  must_be_positive(app.add_option("--burstiness", o.burstiness,
                                  "Shape of the gaps of --rate: 1 is Poisson, less is burstier. "
                                  "Default: 1"));
  app.add_option("--prefix-hit-rate", o.hit_rate,
                 "Share of a prompt that is in the cache, 0 to 1. Default: 0")
      ->check(CLI::Range(0.0, 1.0).description(""));
  count("--num-prompts", o.requests,
        "Requests that are simulated. Default: ten of each user; without users 1000 of each "
        "replica");
  count("--seed", o.seed, "Seed of lengths and arrivals. Default: 1");
  command.never_with("--lengths", {"--isl", "--osl", "--random-range-ratio"});
  command.only_with("--burstiness", "--rate");
}

ServingLoad serving_load(const LoadOptions& o, const ServeFormats& formats, const Model& model,
                         reports::Origin* origin) {
  ServingLoad load;
  load.prefix_hit_rate = o.hit_rate;
  load.acceptance = formats.acceptance.value_or(0.0);
  load.num_requests = o.requests;
  load.seed = static_cast<std::uint64_t>(o.seed);
  set_lengths(load, o, origin);
  if (!o.arrivals.empty()) {
    read_arrivals(load, o.arrivals, origin);
  } else if (o.all_at_once) {
    load.kind = LoadKind::all_at_once;
  } else if (o.rate) {
    load.kind = LoadKind::open_loop;
    load.request_rate = *o.rate;
    load.burstiness = o.burstiness;
  } else if (o.concurrency) {
    if (*o.concurrency < 1.0) {
      throw InputError("--concurrency", "",
                       fmt::format("must be 1 or more (got {})", number_text(*o.concurrency)));
    }
    load.concurrency = std::floor(*o.concurrency);
  } else {
    throw InputError("--rate", "", "the load is missing (got neither --rate nor --concurrency)",
                     "give --rate REQUESTS_PER_SECOND, or --concurrency USERS");
  }
  if (load.lengths.kind != LengthKind::list) {
    check_request_length(o.input, o.output, formats, model);
  } else if (model.max_position_embeddings > 0 &&
             longest_request(load.lengths) > model.max_position_embeddings) {
    throw InputError(o.lengths.empty() ? o.arrivals : o.lengths, "",
                     fmt::format("holds a request of {} tokens (expected at most the {} positions "
                                 "of {})",
                                 number_text(longest_request(load.lengths), 9),
                                 model.max_position_embeddings, model.name));
  }
  return load;
}

Seconds duration_of(const std::string& option, const std::string& text) {
  struct Suffix {
    const char* name;
    double seconds;
  };
  for (const auto& [name, unit] : {Suffix{"us", 1e-6}, Suffix{"ms", 1e-3}, Suffix{"s", 1.0}}) {
    if (!text.ends_with(name)) continue;
    const auto value = whole_text_as_number(text.substr(0, text.size() - std::string(name).size()));
    if (value && *value > 0.0) return seconds(*value * unit);
    break;
  }
  throw InputError(option, "",
                   fmt::format("must be a time above 0 (got \"{}\"; expected a number "
                               "with s or ms)",
                               text),
                   "write 2s or 50ms");
}

void add_limit_options(Command& command, LimitOptions& o, const std::string& before) {
  const auto add = [&](const char* name, std::string& value, const char* about) {
    command.options().add_option(name, value, before + about);
  };
  add("--ttft", o.ttft, "Longest time to first token, such as 2s. Default: no limit");
  add("--tpot", o.tpot,
      "Longest time per output token, (E2E - TTFT) / (output - 1), such as 50ms. Default: no "
      "limit");
  add("--e2e", o.e2e, "Longest time of a whole request. Default: no limit");
  add("--percentile", o.percentile,
      "Requests that meet --ttft and --tpot, such as p99; simulated. Default: means");
}

const char* first_limit(const LimitOptions& o) {
  return !o.ttft.empty()         ? "--ttft"
         : !o.tpot.empty()       ? "--tpot"
         : !o.e2e.empty()        ? "--e2e"
         : !o.percentile.empty() ? "--percentile"
                                 : nullptr;
}

LatencyLimits latency_limits(const LimitOptions& o) {
  LatencyLimits limits;
  if (!o.ttft.empty()) limits.ttft = duration_of("--ttft", o.ttft);
  if (!o.tpot.empty()) limits.tpot = duration_of("--tpot", o.tpot);
  if (!o.e2e.empty()) limits.e2e = duration_of("--e2e", o.e2e);
  return limits;
}

double percentile_of(const LimitOptions& o, int samples) {
  if (o.percentile.empty() || o.percentile == "mean") return 0.0;
  const bool named = o.percentile.starts_with('p');
  const auto value = whole_text_as_number(named ? o.percentile.substr(1) : o.percentile);
  if (!value || *value <= 0.0 || *value >= 100.0) {
    throw InputError(
        "--percentile", "",
        fmt::format("must be above 0 and below 100 (got \"{}\"; expected p50 to p99.9)",
                    o.percentile));
  }
  // The smallest sample that has a request beyond the percentile.
  const double needed = std::ceil(100.0 / (100.0 - *value) - 1e-6);
  if (samples > 0 && samples < needed) {
    throw InputError("--percentile", "",
                     fmt::format("{} is past what {} requests tell (expected at most p{})",
                                 o.percentile, samples, number_text(100.0 - 100.0 / samples)),
                     fmt::format("use --num-prompts {} or more", number_text(needed, 9)));
  }
  return *value;
}

}  // namespace meshwright::app
