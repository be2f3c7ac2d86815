// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/benchmark_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// With one token a chunk the mean gap is a token's mean time but for the weight of long answers.
// A chunk holds several tokens where gaps are longer than this many times that.
constexpr double kBundledGap = 1.3;

std::optional<double> divided(std::optional<double> a, std::optional<double> b) {
  return a && b && *b > 0 ? std::optional(*a / *b) : std::nullopt;
}

// A key of a result and the cell that it fills.
struct Metric {
  const char* key;
  const char* column;
};
void set_metrics(const ResultObject& result, ResultRow& row, const std::vector<Metric>& metrics,
                 double factor) {
  for (const auto& [key, column] : metrics) {
    const auto value = result.number(key);
    row.set(column, value ? std::optional(*value * factor) : std::nullopt);
  }
}

// The mean gap between chunks, unless a chunk holds several tokens.
void set_gap(ResultRow& row, std::optional<double> gap_ms, std::optional<double> token_ms) {
  if (!gap_ms) return;
  if (token_ms && *gap_ms > *token_ms * kBundledGap) {
    row.assume("chunks of several tokens: their gaps are not compared");
    return;
  }
  row.set("itl_mean_ms", gap_ms);
}

// Mean lengths from totals. Whether all are alike stands in detailed results only.
void set_mean_lengths(const ResultObject& result, ResultRow& row) {
  const auto completed = result.number("completed");
  row.set("isl", divided(result.number("total_input_tokens"), completed));
  row.set("osl", divided(result.number("total_output_tokens"), completed));
  const std::vector<double> inputs = result.numbers("input_lens");
  const std::vector<double> outputs = result.numbers("output_lens");
  const auto alike = [](const std::vector<double>& values) {
    return !values.empty() && std::all_of(values.begin(), values.end(),
                                          [&](double one) { return one == values.front(); });
  };
  row.set("length_distribution", alike(inputs) && alike(outputs) ? "fixed" : "not stated");
}

// "sglang-oai-chat" is SGLang; an OpenAI client does not say whom it asked.
std::string engine_of_backend(const std::string& backend) {
  if (backend.starts_with("sglang")) return "sglang";
  if (backend.starts_with("vllm")) return "vllm";
  if (backend.starts_with("trt") || backend.starts_with("tensorrt")) return "trtllm";
  return "";
}

// Cells that the user wrote beside the result: vllm bench serve --metadata tp=8 gpu=h100.
void set_metadata(const ResultObject& result, ResultRow& row) {
  constexpr std::array kOthers{Metric{"tensor_parallel_size", "tp"},
                               Metric{"pipeline_parallel_size", "pp"},
                               Metric{"expert_parallel_size", "ep"}};
  for (const auto& [key, column] : kOthers) row.set(column, result.text(key));
  for (const char* column :
       {"gpu", "num_gpus", "engine", "engine_version", "precision", "kv_format", "spec_decode",
        "tp", "pp", "ep", "dp_attention", "max_num_seqs", "max_batched_tokens", "mem_fraction"}) {
    row.set(column, result.text(column));
  }
}

// The first of these names that is not empty.
std::string first_text(const ResultObject& result, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (std::string text = result.text(key); !text.empty()) return text;
  }
  return "";
}

// SGLang's --tp counts the data ranks of attention; the table's does not.
void set_sglang_server(const ResultObject& server, ResultRow& row) {
  row.set("model", server.text("model_path"));
  row.set("engine", "sglang");
  row.set("engine_version", server.text("version"));
  row.set("precision", precision_of_quantization(lower_case(server.text("quantization"))));
  if (const std::string cache = server.text("kv_cache_dtype"); cache.starts_with("fp8")) {
    row.set("kv_format", "fp8");
  }
  row.set("mem_fraction", server.number("mem_fraction_static"));
  row.set("max_num_seqs", server.number("max_running_requests"));
  // -1: prompts are not cut.
  if (const std::string chunk = server.text("chunked_prefill_size"); !chunk.starts_with('-')) {
    row.set("max_batched_tokens", chunk);
  }
  if (!server.text("speculative_algorithm").empty()) row.set("spec_decode", "mtp");
  const auto tensor = server.number("tp_size");
  if (!tensor) return;
  const double data = std::max(1.0, server.number("dp_size").value_or(1.0));
  const double stages = std::max(1.0, server.number("pp_size").value_or(1.0));
  const bool attention = server.flag("enable_dp_attention") && data > 1;
  row.set("tp", std::optional(attention ? *tensor / data : *tensor));
  row.set("pp", std::optional(stages));
  row.set("ep", server.number("ep_size"));
  if (attention) row.set("dp_attention", std::optional(data));
  row.set("num_gpus", std::optional(*tensor * stages * (attention ? 1.0 : data)));
}

// A time of aiperf in milliseconds.
std::optional<double> milliseconds_of(const ResultObject& metric, const char* key) {
  const auto value = metric.number(key);
  if (!value) return std::nullopt;
  const std::string unit = metric.text("unit");
  if (unit == "ms" || unit == "milliseconds") return value;
  if (unit == "s" || unit == "sec" || unit == "seconds") return *value * 1e3;
  if (unit == "us" || unit == "microseconds") return *value * 1e-3;
  if (unit == "ns" || unit == "nanoseconds") return *value * 1e-6;
  return std::nullopt;
}

// The object at the end of a chain of keys.
std::optional<ResultObject> below(const ResultObject& result,
                                  const std::vector<const char*>& keys) {
  std::optional<ResultObject> object = result;
  for (const char* key : keys) {
    if (object) object = object->object(key);
  }
  return object;
}

// The options of aiperf's load generator, or of genai-perf's.
ResultLoad aiperf_load(const ResultObject& result) {
  auto stated = below(result, {"input_config", "loadgen"});
  if (!stated) stated = below(result, {"input_config", "perf_analyzer", "stimulus"});
  if (!stated) return {};
  return {stated->number("concurrency"), stated->number("request_rate"),
          stated->number("request_count"), std::nullopt, std::nullopt};
}

std::string first_model(const ResultObject& result) {
  auto stated = below(result, {"input_config", "endpoint"});
  if (!stated || !stated->has("model_names")) stated = below(result, {"input_config"});
  if (!stated || !stated->has("model_names")) return "";
  const Json& names = *stated->json().find("model_names");
  const bool is_list = names.is_array() && !names.empty() && names.front().is_string();
  return is_list ? names.front().get<std::string>() : "";
}

// Sizes of one pool of a disaggregated row; --tp counts data ranks.
double set_pool(const ResultObject& result, ResultRow& row, const std::string& side) {
  const auto number = [&](const char* name) { return result.number((side + name).c_str()); };
  const double tensor = number("tp").value_or(0.0);
  const double experts = std::max(1.0, number("ep").value_or(1.0));
  const double workers = number("num_workers").value_or(0.0);
  double gpus = result.number(side == "prefill_" ? "num_prefill_gpu" : "num_decode_gpu")
                    .value_or(workers * tensor);
  // Older rows count experts' ranks twice.
  if (experts > 1 && gpus == workers * tensor * experts) gpus = workers * tensor;
  row.set(side + "tp", std::optional(tensor));
  row.set(side + "ep", std::optional(experts));
  row.set(side + "workers", std::optional(workers));
  row.set(side + "gpus", std::optional(gpus));
  if (result.flag((side + "dp_attention").c_str())) row.set(side + "dp", "yes");
  return gpus;
}

}  // namespace

bool is_sglang_result(const ResultObject& result) {
  return result.has("mean_e2e_latency_ms") || result.has("total_output_tokens_retokenized");
}

bool is_vllm_result(const ResultObject& result) {
  return result.has("total_output_tokens") && result.has("output_throughput");
}

bool is_aiperf_result(const ResultObject& result) {
  const auto records = result.object("records");
  const ResultObject& metrics = records ? *records : result;
  return metrics.object("request_latency") || metrics.object("time_to_first_token") ||
         metrics.object("output_token_throughput");
}

bool is_inferencex_result(const ResultObject& result) {
  return result.has("tput_per_gpu") || result.has("output_tput_per_gpu");
}

void read_sglang_result(const ResultObject& result, ResultRow& row) {
  row.set("id", result.text("tag"));
  row.set("engine", engine_of_backend(result.text("backend")));
  if (const auto server = result.object("server_info")) set_sglang_server(*server, row);
  set_metadata(result, row);
  set_mean_lengths(result, row);
  const auto input = result.number("random_input_len"), output = result.number("random_output_len");
  const auto ratio = result.number("random_range_ratio");
  if (result.text("dataset_name").starts_with("random") && input && output && ratio) {
    row.set("isl", input);
    row.set("osl", output);
    row.set("length_distribution",
            *ratio >= 1 ? "fixed" : fmt::format("uniform {}-1.0 of isl and osl", *ratio));
  }
  set_load(row,
           {result.number("max_concurrency"), result.number("request_rate"),
            result.number("completed"), result.number("max_concurrent_requests"), std::nullopt});
  if (const auto accepted = result.number("accept_length"); accepted && *accepted > 1.0) {
    row.set("spec_decode", "mtp");
  }
  set_metrics(result, row,
              {{"mean_ttft_ms", "ttft_mean_ms"},
               {"median_ttft_ms", "ttft_p50_ms"},
               {"p99_ttft_ms", "ttft_p99_ms"},
               {"mean_tpot_ms", "tpot_mean_ms"},
               {"p99_tpot_ms", "tpot_p99_ms"},
               {"mean_e2e_latency_ms", "e2e_mean_ms"},
               {"output_throughput", "output_tps"}},
              1.0);
  set_gap(row, result.number("mean_itl_ms"), result.number("mean_tpot_ms"));
}

void read_vllm_result(const ResultObject& result, ResultRow& row) {
  row.set("id", result.text("label"));
  row.set("model", result.text("model_id"));
  row.set("engine", engine_of_backend(first_text(result, {"backend", "endpoint_type"})));
  set_metadata(result, row);
  set_mean_lengths(result, row);
  const auto requests = result.number("num_prompts");
  set_load(row, {result.number("max_concurrency"), result.number("request_rate"),
                 requests ? requests : result.number("completed"),
                 result.number("max_concurrent_requests"), result.number("burstiness")});
  set_metrics(result, row,
              {{"mean_ttft_ms", "ttft_mean_ms"},
               {"median_ttft_ms", "ttft_p50_ms"},
               {"p99_ttft_ms", "ttft_p99_ms"},
               {"mean_tpot_ms", "tpot_mean_ms"},
               {"p99_tpot_ms", "tpot_p99_ms"},
               {"mean_e2el_ms", "e2e_mean_ms"},
               {"output_throughput", "output_tps"}},
              1.0);
  set_gap(row, result.number("mean_itl_ms"), result.number("mean_tpot_ms"));
}

void read_aiperf_result(const ResultObject& result, ResultRow& row) {
  const auto records = result.object("records");
  const ResultObject& metrics = records ? *records : result;
  row.set("model", first_model(result));
  set_load(row, aiperf_load(result));
  bool alike = true;
  for (const auto& [name, column] :
       {Metric{"input_sequence_length", "isl"}, Metric{"output_sequence_length", "osl"}}) {
    const auto metric = metrics.object(name);
    if (!metric) continue;
    row.set(column, metric->number("avg"));
    alike = alike && metric->number("std") == std::optional(0.0);
  }
  row.set("length_distribution", alike ? "fixed" : "not stated");
  const auto time = [&](const char* name, const char* key, const char* column) {
    const auto metric = metrics.object(name);
    if (metric) row.set(column, milliseconds_of(*metric, key));
  };
  time("time_to_first_token", "avg", "ttft_mean_ms");
  time("time_to_first_token", "p50", "ttft_p50_ms");
  time("time_to_first_token", "p99", "ttft_p99_ms");
  // (latency - TTFT) / (O - 1): a token's mean time, by the name of a gap.
  time("inter_token_latency", "avg", "tpot_mean_ms");
  time("inter_token_latency", "p99", "tpot_p99_ms");
  time("request_latency", "avg", "e2e_mean_ms");
  if (const auto rate = metrics.object("output_token_throughput")) {
    row.set("output_tps", rate->number("avg"));
  }
}

void read_inferencex_result(const ResultObject& result, ResultRow& row) {
  const std::string gpu = lower_case(result.text("hw"));
  row.set("gpu", gpu.substr(0, gpu.find_first_of("-_ ")));
  row.set("dataset", "inferencex");
  row.set("model", result.text("model"));
  const std::string framework = lower_case(result.text("framework"));
  const std::size_t behind = framework.rfind('-');  // "dynamo-trt"
  row.set("engine", engine_of_backend(behind == std::string::npos ? framework
                                                                  : framework.substr(behind + 1)));
  row.set("engine_version", result.text("image"));
  row.set("precision", lower_case(result.text("precision")));
  const std::string drafts = lower_case(result.text("spec_decoding"));
  if (!drafts.empty() && drafts != "none") row.set("spec_decode", "mtp");
  row.set("isl", result.number("isl"));
  row.set("osl", result.number("osl"));
  row.set("length_distribution", "uniform 0.8-1.0 of isl and osl");
  if (const auto users = result.number("conc")) {
    set_load(row, {users, std::nullopt, *users * 10.0, std::nullopt, std::nullopt});
  }
  double gpus = 0;  // that its output is divided by
  if (result.flag("disagg")) {
    row.set("mode", "disagg");
    set_pool(result, row, "prefill_");
    gpus = set_pool(result, row, "decode_");
  } else {
    row.set("mode", "agg");
    const double stages = std::max(1.0, result.number("pp").value_or(1.0));
    const double tensor = result.number("tp").value_or(0.0);
    gpus = tensor * stages;
    row.set("tp", std::optional(tensor));
    row.set("pp", std::optional(stages));
    row.set("ep", result.number("ep"));
    if (result.flag("dp_attention")) row.set("dp_attention", "yes");
    row.set("num_gpus", std::optional(gpus));
  }
  set_metrics(result, row,
              {{"mean_ttft", "ttft_mean_ms"},
               {"median_ttft", "ttft_p50_ms"},
               {"p99_ttft", "ttft_p99_ms"},
               {"mean_tpot", "tpot_mean_ms"},
               {"p99_tpot", "tpot_p99_ms"},
               {"mean_e2el", "e2e_mean_ms"}},
              1e3);
  const auto seconds_in_ms = [&](const char* key) -> std::optional<double> {
    const auto value = result.number(key);
    return value ? std::optional(*value * 1e3) : std::nullopt;
  };
  set_gap(row, seconds_in_ms("mean_itl"), seconds_in_ms("mean_tpot"));
  if (const auto rate = result.number("output_tput_per_gpu"); rate && gpus > 0) {
    row.set("output_tps", std::optional(*rate * gpus));
  }
}

}  // namespace meshwright::interop
