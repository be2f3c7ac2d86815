// SPDX-License-Identifier: Apache-2.0
// meshwright serve: what an inference engine does on a cluster.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "app/commands/commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/output_file.h"
#include "app/files/serving_files.h"
#include "app/options/command.h"
#include "app/options/output.h"
#include "reports/records/serving_answer.h"
#include "reports/tables/serving_tables.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/record/kind.h"
#include "sim/serving/estimate.h"
#include "sim/serving/experts_touched.h"

namespace meshwright::app {
namespace {

std::string whole_number(double value) { return count_text(static_cast<std::int64_t>(value)); }

// The engine's own words: --tp counts data ranks where the engine's does.
struct ServeOptions {
  std::string model, cluster, engine = "vllm-0.24";
  int tensor = 1, pipeline = 1, data = 1, experts = 1, context = 1;
  std::string weights = "bf16", kv_cache = "bf16", exchange = "auto";
  int batch = 1, input = 1024, output_tokens = 1024;
  std::optional<double> memory_fraction;
  int max_num_seqs = 0, max_num_batched_tokens = 0, max_model_len = 0, block_size = 0;
  int speculative_tokens = 0;
  std::optional<double> acceptance;
  bool enforce_eager = false;
  OutputOptions output;
};

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

ReplicaLayout replica_layout_of(const ServeOptions& o, const Engine& engine) {
  ReplicaLayout layout{o.tensor, o.pipeline, o.data, o.experts, o.context};
  if (!engine.tensor_size_counts_data_ranks || o.data == 1) return layout;
  if (o.tensor % o.data != 0) {
    throw InputError("--dp", "",
                     fmt::format("must divide --tp {} ({} counts attention's data ranks in --tp), "
                                 "is {}",
                                 o.tensor, engine.name, o.data));
  }
  layout.tensor_parallel_size = o.tensor / o.data;
  return layout;
}

void check_lengths(const ServeOptions& o, const Model& model) {
  const int limit = model.max_position_embeddings;
  const auto refuse = [&](const char* option, int value) {
    throw InputError(
        option, "",
        fmt::format("must be at most the {} positions of {}, is {}", limit, model.name, value),
        "use shorter prompts or answers, or a model with longer contexts");
  };
  if (limit <= 0) return;
  if (o.max_model_len > limit) refuse("--max-model-len", o.max_model_len);
  if (o.input + o.output_tokens > limit) refuse("--isl + --osl", o.input + o.output_tokens);
  if (o.max_model_len > 0 && o.input + o.output_tokens > o.max_model_len) {
    throw InputError("--isl + --osl", "",
                     fmt::format("must be at most --max-model-len {}, is {}", o.max_model_len,
                                 o.input + o.output_tokens));
  }
}

ServingScenario scenario_of(const ServeOptions& o) {
  ServingScenario scenario{
      load_model(o.model), load_serving_cluster(o.cluster), load_engine(o.engine), {}};
  const Model& model = scenario.model;
  if (!has_kv_layout(model)) {
    throw InputError(
        o.model, "",
        fmt::format("has no known key-value layout: num_attention_heads {}, "
                    "num_query_groups {}, kv_channels {}; each must be above 0",
                    model.num_attention_heads, model.num_query_groups, model.kv_channels),
        "serve needs a model whose layers hold keys and values");
  }
  if (o.memory_fraction && !(*o.memory_fraction > 0.0 && *o.memory_fraction <= 1.0)) {
    throw InputError(
        "--memory-fraction", "",
        fmt::format("must be above 0 and at most 1, is {}", number_text(*o.memory_fraction)));
  }
  check_lengths(o, model);
  ReplicaOptions& options = scenario.options;
  options.weights = usual_scheme(value_named(kWeightFormatNames, "--weights", o.weights), model);
  options.kv_cache = value_named(kKvCacheFormatNames, "--kv-cache", o.kv_cache);
  options.exchange = value_named(kExpertExchangeNames, "--expert-exchange", o.exchange);
  options.layout = replica_layout_of(o, scenario.engine);
  options.memory_fraction = o.memory_fraction;
  options.max_num_seqs = o.max_num_seqs;
  options.max_num_batched_tokens = o.max_num_batched_tokens;
  options.max_model_len = o.max_model_len;
  options.block_size = o.block_size;
  options.num_speculative_tokens = o.speculative_tokens;
  options.enforce_eager = o.enforce_eager;
  return scenario;
}

std::vector<std::string> serving_notes_of(const ServeOptions& o, const ServingScenario& scenario) {
  std::vector<std::string> notes;
  const Device& device = only_device(scenario.cluster);
  if (scenario.cluster.inference.source.empty()) {
    notes.push_back(
        fmt::format("{} has no measured inference kernels; rates fitted over other chips are used.",
                    device.name));
  }
  if (o.speculative_tokens > 0 && !o.acceptance) {
    notes.emplace_back(
        "One token per step is counted. Use --acceptance to count those that drafts add.");
  }
  return notes;
}

int report_refusal(const ServingScenario& scenario, const ServingViolation& violation) {
  const ServingRuleInput in{scenario.model, scenario.cluster, scenario.engine, scenario.options};
  say("{} refuses {} with {}: {} ({}).\n  {}\n  {}\n  {}\n", scenario.engine.name,
      scenario.model.name, short_name(scenario.options.layout),
      violation.rule->sentence(in, violation.missed), violation.rule->name,
      violation.rule->requirement, violation.rule->reason, violation.rule->remedy);
  return kGateFailed;
}

std::string serving_summary(const ServingScenario& s, const ServingBatch& batch,
                            const ServingEstimate& e) {
  const ReplicaLayout& layout = e.options.layout;
  const auto ms = [](Seconds time) { return number_text(time / milliseconds(1), 3); };
  std::string text =
      fmt::format("{} ({} weights, {} cache) with {} on {} x {}, {}.\n", s.model.name,
                  name_of(e.options.weights.format), name_of(e.options.kv_cache),
                  short_name(layout), num_gpus(layout), only_device(s.cluster).name, s.engine.name);
  text += fmt::format(
      "Cache: {} GiB a rank, {} tokens ({} blocks) an attention group; at most {} requests of {} + "
      "{} tokens run together.\n",
      number_text(in_gibibytes(e.memory.kv_cache), 3), whole_number(e.memory.kv_tokens),
      whole_number(e.memory.kv_blocks), whole_number(e.largest_batch), whole_number(batch.input),
      whole_number(batch.output));
  text += fmt::format("Prefill of one prompt: {} ms in {} steps.\n", ms(e.prefill_time),
                      whole_number(e.prefill_chunks));
  text += fmt::format(
      "Decode step at {} sequences and {} tokens of context: {} ms ({} to {}), {} tokens/s a "
      "sequence, {} tokens/s a GPU; numbers are {}.\n",
      whole_number(batch.sequences), whole_number(batch.input + batch.output / 2.0),
      ms(e.decode.time.total), ms(e.decode.low), ms(e.decode.high),
      number_text(e.tokens_per_second_per_user, 3), number_text(e.tokens_per_second_per_gpu, 4),
      name_of(e.decode.provenance));
  return text;
}

int run_serve_estimate(const ServeOptions& options, const Call& call) {
  const ServingScenario scenario = scenario_of(options);
  ServingBatch batch{static_cast<double>(options.batch), static_cast<double>(options.input),
                     static_cast<double>(options.output_tokens)};
  if (options.acceptance) {
    batch.tokens_per_step = accepted_length(options.speculative_tokens, *options.acceptance);
  }
  const auto outcome = serving_estimate(scenario, batch);
  if (const auto* violation = std::get_if<ServingViolation>(&outcome)) {
    return report_refusal(scenario, *violation);
  }
  const auto& found = std::get<ServingEstimate>(outcome);
  const std::vector<std::string> notes = serving_notes_of(options, scenario);
  const std::vector<reports::Table> tables{reports::serving_memory_table(found.memory),
                                           reports::serving_terms_table(found),
                                           reports::serving_volume_table(found)};
  if (options.output.format == Format::table) {
    write_file_atomically(options.output.out, wrapped(serving_summary(scenario, batch, found)) +
                                                  "\n" + tables_text(tables, Format::table));
  } else {
    const reports::ServingAnswer answer{
        call.text(),     notes, scenario.model, scenario.cluster, scenario.cluster.inference,
        scenario.engine, batch, found};
    write_output(options.output, tables,
                 reports::serving_answer_record().write(answer).dump(2) + "\n");
  }
  for (const std::string& note : notes) say("note: {}\n", note);
  if (!found.fits) {
    say("Does not fit: the cache holds {} tokens, one request takes {}. Use more GPUs a replica, "
        "narrower weights or cache, or shorter requests.\n",
        whole_number(found.memory.kv_tokens), whole_number(batch.input + batch.output));
    return kGateFailed;
  }
  return kDone;
}

void add_sizes(Command& command, ServeOptions& o) {
  CLI::App& app = command.options();
  const auto count = [&](const char* name, int& value, const char* about) {
    app.add_option(name, value, about)->check(CLI::Range(1, 1'000'000'000));
  };
  count("--tp,--tensor-parallel-size", o.tensor, "Tensor-parallel size. Default: 1");
  count("--pp,--pipeline-parallel-size", o.pipeline, "Pipeline stages. Default: 1");
  count("--dp,--data-parallel-size", o.data,
        "Attention's data ranks, which share experts (SGLang and TensorRT-LLM: part of --tp). "
        "Default: 1");
  count("--ep,--expert-parallel-size", o.experts, "Ranks that share the experts. Default: 1");
  count("--dcp,--decode-context-parallel-size", o.context,
        "Tensor ranks that share a context (vLLM). Default: 1");
  count("--batch", o.batch, "Sequences that decode together, of each data rank. Default: 1");
  count("--isl", o.input, "Tokens of a prompt. Default: 1024");
  count("--osl", o.output_tokens, "Tokens of an answer. Default: 1024");
  count("--max-num-seqs", o.max_num_seqs, "Running sequences, at most. Default: the engine's");
  count("--max-num-batched-tokens", o.max_num_batched_tokens,
        "Tokens of a step, at most. Default: the engine's");
  count("--max-model-len", o.max_model_len, "Tokens of a request, at most. Default: the model's");
  count("--block-size", o.block_size, "Tokens of a block of the cache. Default: the engine's");
  count("--speculative-tokens", o.speculative_tokens, "Draft tokens per step. Default: none");
}

void add_formats(Command& command, ServeOptions& o) {
  CLI::App& app = command.options();
  app.add_option("--weights", o.weights,
                 "Format of the weights: bf16, fp8, fp8_block, mxfp8, int4, mxfp4 or nvfp4. "
                 "Default: bf16");
  app.add_option("--kv-cache", o.kv_cache,
                 "Format of the cache: bf16, fp8, fp8_ds_mla or nvfp4. Default: bf16");
  app.add_option("--expert-exchange", o.exchange,
                 "How tokens reach experts of data ranks: auto, allgather_reducescatter, "
                 "deepep_low_latency or deepep_high_throughput. Default: auto");
  app.add_option("--memory-fraction", o.memory_fraction,
                 "gpu_memory_utilization, mem_fraction_static or free_gpu_memory_fraction. "
                 "Default: the engine's");
  app.add_option("--acceptance", o.acceptance,
                 "Share of drafts that are accepted, 0 to 1. Default: none is counted")
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--enforce-eager", o.enforce_eager, "Run without CUDA graphs");
}

void add_serve_estimate(Commands& commands, Command& serve) {
  auto options = std::make_shared<ServeOptions>();
  Command& command = commands.add_below(
      serve, "estimate", "Memory, largest batch and steps of one replica, term by term");
  command
      .reads("--model", options->model,
             "Model: a file, a Hugging Face config.json, or a name from configs/models", "models")
      ->required();
  command
      .reads("--cluster", options->cluster,
             "Cluster: a file, a measured profile, or a name from configs/clusters", "clusters")
      ->required();
  command.reads("--engine", options->engine,
                "Engine: a file, or a name from configs/engines. Default: vllm-0.24", "engines");
  add_sizes(command, *options);
  add_formats(command, *options);
  command.only_with("--acceptance", "--speculative-tokens");
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_serve_estimate(*options, call); });
}

}  // namespace

void add_serve(Commands& commands) {
  Command& command =
      commands.add("serve", "One replica of an inference engine: memory, steps, volume");
  command.options().require_subcommand(1);
  add_serve_estimate(commands, command);
}

}  // namespace meshwright::app
