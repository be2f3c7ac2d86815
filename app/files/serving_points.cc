// SPDX-License-Identifier: Apache-2.0
#include "app/files/serving_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

#include "app/files/checkpoint_names.h"
#include "app/files/files.h"
#include "app/files/inferencex_commands.h"
#include "app/files/point_row.h"
#include "app/files/serving_files.h"
#include "app/files/trtllm_bench.h"
#include "interop/tables/csv.h"

namespace meshwright::app {
namespace {

using planner::MeasuredService;
using planner::ServingQuantity;

struct GpuCluster {
  std::string_view gpu, cluster;
};
constexpr std::array kGpuClusters{GpuCluster{"a100", "a100-80gb-512"},
                                  GpuCluster{"h100", "h100-512"},
                                  GpuCluster{"h200", "h200-512"},
                                  GpuCluster{"h800", "h800-2048"},
                                  GpuCluster{"b200", "b200-512"},
                                  GpuCluster{"b300", "b300-512"},
                                  GpuCluster{"gb200", "gb200-nvl72"},
                                  GpuCluster{"gb300", "gb300-nvl72"},
                                  GpuCluster{"l40s", "l40s-8"},
                                  GpuCluster{"mi300x", "mi300x-512"},
                                  GpuCluster{"rtx4090", "rtx-4090-8"},
                                  GpuCluster{"rtx_pro_6000", "rtx-pro-6000-8"},
                                  GpuCluster{"rtxpro6000", "rtx-pro-6000-8"}};

std::string cluster_named(const PointRow& row) {
  if (const std::string stated = row.text("cluster"); !stated.empty()) return stated;
  const std::string gpu = row.text("gpu");
  if (gpu.empty()) throw UnusablePoint{"the GPU is not stated: use --cluster"};
  for (const auto& [name, cluster] : kGpuClusters) {
    if (name == gpu) return std::string(cluster);
  }
  throw UnusablePoint{fmt::format("no cluster of GPU \"{}\" is shipped", gpu)};
}

// The shipped model of that name, or the only one whose name begins with it.
std::string model_named(const std::string& name) {
  const std::vector<std::string> shipped = config_names("models");
  if (std::find(shipped.begin(), shipped.end(), name) != shipped.end()) return name;
  if (name.empty()) throw UnusablePoint{"the model is not stated: use --model"};
  if (const std::string found = model_of_checkpoint(name); name.find('/') != std::string::npos) {
    if (found.empty()) {
      throw UnusablePoint{
          fmt::format("no shipped model has the shape of \"{}\": use --model", name)};
    }
    return found;
  }
  std::string found;
  for (const std::string& one : shipped) {
    if (!name.empty() && one.starts_with(name + "-")) found = found.empty() ? one : "?";
  }
  if (found.empty() || found == "?") {
    throw UnusablePoint{fmt::format("no model \"{}\" is shipped", name)};
  }
  return found;
}

class PointReader {
 public:
  explicit PointReader(const StatedService& stated) : stated_(stated) {}

  MeasuredService read(const PointRow& row) {
    MeasuredService point;
    read_origin(row, point);
    point.group = row.text("group");
    point.source = row.text("source");
    point.model = row.text("model");
    point.gpu = row.text("gpu");
    point.engine = row.text("engine");
    point.engine_version = row.text("engine_version");
    point.speculation_unknown = row.text("spec_decode") == "not stated";
    const std::string model = stated_.model.empty() ? model_named(point.model) : stated_.model;
    const bool is_checkpoint = point.model.find('/') != std::string::npos;
    if (point.model.empty() || is_checkpoint) {
      point.model = std::filesystem::path(model).stem().string();
    }
    const std::string engine = engine_of(point, row.text("measured_on"));
    const std::string cluster = cluster_named(row);
    read_load(row, point);
    read_deployment(row, point, model, cluster, engine);
    read_measured(row, point);
    return point;
  }

  static MeasuredService read_result(const PointRow& row, MeasuredService service) {
    read_origin(row, service);
    read_load(row, service);
    read_measured(row, service);
    return service;
  }

 private:
  // Its name, and what it does not say.
  static void read_origin(const PointRow& row, MeasuredService& point) {
    if (row.text("spec_decode") == "mtp") {
      throw UnusablePoint{"speculative decoding without a stated acceptance"};
    }
    point.id = row.text("id");
    if (const std::string assumed = row.text("assumed"); !assumed.empty()) {
      point.assumed.push_back(assumed);
    }
  }

  std::string engine_of(MeasuredService& point, const std::string& date) {
    if (!stated_.engine.empty()) return stated_.engine;
    if (point.engine.empty()) throw UnusablePoint{"the engine is not stated: use --engine"};
    // Another engine by the same name: its scheduler runs prompts before decodes, without chunks
    // (vLLM's V1 is the default from 0.8 on).
    const std::string& version = point.engine_version;
    const bool old = version.starts_with("0.") && version.size() > 3 && version[3] == '.' &&
                     version[2] >= '1' && version[2] < '8';
    if (point.engine == "vllm" && old) {
      throw UnusablePoint{
          fmt::format("vLLM {} runs the V0 engine, which no shipped file describes", version)};
    }
    const std::string found =
        nearest_engine(engine_kind_of(point.engine), point.engine_version, date);
    if (found.empty())
      throw UnusablePoint{fmt::format("no engine \"{}\" is shipped", point.engine)};
    if (point.engine_version.empty()) point.assumed.push_back("engine version: " + found);
    return found;
  }

  std::shared_ptr<const ServingScenario> scenario_of(const std::string& model,
                                                     const std::string& cluster,
                                                     const std::string& engine) {
    auto& known = scenarios_[model + "|" + cluster + "|" + engine];
    if (known == nullptr) {
      const bool shipped = stated_.engines.empty() || !stated_.engine.empty();
      const std::string file = shipped ? engine : stated_.engines + "/" + engine + ".json";
      known = std::make_shared<const ServingScenario>(
          ServingScenario{load_model(model), load_serving_cluster(cluster), load_engine(file), {}});
    }
    return known;
  }

  // 0.8 of "uniform 0.8-1.0 of isl and osl".
  static std::optional<double> least_share_of(const std::string& distribution) {
    constexpr std::string_view kUniform = "uniform ";
    if (!distribution.starts_with(kUniform)) return std::nullopt;
    double share = 0;
    const auto [end, error] = std::from_chars(distribution.data() + kUniform.size(),
                                              distribution.data() + distribution.size(), share);
    const bool good = error == std::errc() && share >= 0 && share < 1;
    return good ? std::optional(share) : std::nullopt;
  }

  static void read_load(const PointRow& row, MeasuredService& point) {
    ServingLoad& load = point.load;
    const std::string kind = row.text("load");
    const auto users = row.number("concurrency"), rate = row.number("request_rate_rps");
    load.num_requests = row.whole("num_prompts", 0);
    if (kind.empty() && row.number("kv_tokens")) {
      point.assumed.emplace_back("load: none; the cache alone is compared");
      return;
    }
    if (kind == "closed" && users) {
      load.kind = LoadKind::closed_loop;
      load.concurrency = std::max(1.0, *users);
      if (load.num_requests < load.concurrency) load.num_requests = 0;
    } else if (kind.starts_with("open") && rate && *rate > 0) {
      load.kind = LoadKind::open_loop;
      load.request_rate = *rate;
      if (const auto shape = row.number("burstiness"); shape && *shape > 0) {
        load.burstiness = *shape;
      }
      if (kind.find("constant") != std::string::npos) load.burstiness = 1e6;
    } else if ((kind == "all at once" || kind == "offline" || kind == "one batch") &&
               (load.num_requests > 0 || users)) {
      load.kind = LoadKind::all_at_once;
      if (load.num_requests == 0) load.num_requests = static_cast<int>(*users);
      load.num_requests = std::min(load.num_requests, 3000);
    } else {
      throw UnusablePoint{fmt::format("load \"{}\" without its users, rate or requests", kind)};
    }
    const auto input = row.number("isl"), output = row.number("osl");
    if (!input || !output || *input < 1 || *output < 1)
      throw UnusablePoint{"no lengths of requests"};
    load.lengths.input = static_cast<int>(std::lround(*input));
    load.lengths.output = static_cast<int>(std::lround(*output));
    if (const auto share = least_share_of(row.text("length_distribution"))) {
      load.lengths.kind = LengthKind::uniform;
      load.lengths.least_share = *share;
    } else if (row.text("length_distribution") == "not stated") {
      // Lengths that are all alike would keep users in step with each other.
      load.lengths.kind = LengthKind::uniform;
      load.lengths.least_share = 0.9 / 1.1;
      load.lengths.input = static_cast<int>(std::lround(*input * 1.1));
      load.lengths.output = static_cast<int>(std::lround(*output * 1.1));
      point.assumed.emplace_back("lengths: uniform, 10 % around their mean");
    }
  }

  // Sizes of one pool: columns with this prefix, or the plain ones.
  static planner::ServingPool pool_of(const PointRow& row, const std::string& prefix,
                                      const ReplicaOptions& base) {
    planner::ServingPool pool{base, 1};
    const auto whole = [&](const char* name, int otherwise) {
      return row.whole(prefix + name, otherwise);
    };
    ReplicaLayout& layout = pool.options.layout;
    const std::string data = row.text(prefix.empty() ? "dp_attention" : prefix + "dp");
    const int tensor = whole("tp", 0), stages = whole("pp", 1);
    if (tensor == 0) throw UnusablePoint{"no tensor-parallel size: use --tp"};
    layout.tensor_parallel_size = tensor;
    layout.pipeline_parallel_size = stages;
    layout.data_parallel_size = std::max(1, whole(prefix.empty() ? "dp_attention" : "dp", 1));
    int gpus = whole(prefix.empty() ? "num_gpus" : "gpus", 0);
    const int workers = prefix.empty() ? 0 : whole("workers", 0);
    if (!prefix.empty() && (workers == 0 || gpus == 0)) throw UnusablePoint{"no number of workers"};
    // "yes", or a tensor size that counts data ranks: one group a data rank. TensorRT-LLM's tables
    // of experts state "enable_attention_dp" of all their rows.
    const bool all = data == "yes" || data.starts_with("enable_attention_dp");
    const int of_worker = workers > 0 ? gpus / workers : gpus;
    const int product = tensor * stages * layout.data_parallel_size;
    if (all || (workers > 0 && product > of_worker && of_worker > 0)) {
      layout.data_parallel_size = all ? tensor : layout.data_parallel_size;
      layout.tensor_parallel_size = std::max(1, tensor / layout.data_parallel_size);
    }
    const int ranks = layout.tensor_parallel_size * layout.data_parallel_size;
    const bool experts_set = row.text(prefix + "ep").starts_with("set");  // its value is not stated
    layout.expert_parallel_size = experts_set ? ranks : whole("ep", 1);
    if (layout.expert_parallel_size > ranks || ranks % layout.expert_parallel_size != 0) {
      layout.expert_parallel_size = ranks;
    }
    const int replica = num_gpus(layout);
    if (gpus == 0) gpus = replica;
    if (gpus % replica != 0) {
      throw UnusablePoint{
          fmt::format("{} GPUs are no whole number of replicas of {}", gpus, replica)};
    }
    pool.replicas = workers > 0 ? workers : gpus / replica;
    return pool;
  }

  static WeightFormat format_of(const PointRow& row, const Model& model) {
    const std::string precision = row.text("precision");
    if (precision.empty()) throw UnusablePoint{"the weights' format is not stated: use --weights"};
    if (precision == "bf16") return WeightFormat::bf16;
    if (precision == "int4" || precision == "uint4") return WeightFormat::int4;
    if (precision == "fp8") {
      const bool blocks = model.moe && !model.name.starts_with("gpt-oss");
      return blocks ? WeightFormat::fp8_block : WeightFormat::fp8;
    }
    if (precision == "fp4") {
      return model.name.starts_with("gpt-oss") ? WeightFormat::mxfp4 : WeightFormat::nvfp4;
    }
    for (const auto& [format, name] : kWeightFormatNames) {
      if (name == precision) return format;
    }
    throw UnusablePoint{fmt::format("precision \"{}\"", precision)};
  }

  void read_deployment(const PointRow& row, MeasuredService& point, const std::string& model,
                       const std::string& cluster, const std::string& engine) {
    point.scenario = scenario_of(model, cluster, engine);
    const ServingScenario& s = *point.scenario;
    ReplicaOptions base;
    base.weights = usual_scheme(format_of(row, s.model), s.model);
    base.kv_cache = kv_format_of(row, point, base.weights.format);
    base.max_num_seqs = row.whole("max_num_seqs", 0);
    base.max_num_batched_tokens = row.whole("max_batched_tokens", 0);
    if (const auto fraction = row.number("mem_fraction"); fraction && *fraction <= 1.0) {
      base.memory_fraction = fraction;
    }
    const auto with_engine_defaults = [&](planner::ServingPool pool) {
      pool.options = with_defaults(pool.options, s.engine, only_device(s.cluster), s.model);
      return pool;
    };
    if (row.text("mode") == "disagg") {
      point.deployment.prefill = with_engine_defaults(pool_of(row, "prefill_", base));
      point.deployment.pool = with_engine_defaults(pool_of(row, "decode_", base));
    } else {
      planner::ServingPool pool = pool_of(row, "", base);
      const InferencexRow published{point.model,
                                    point.gpu,
                                    point.engine,
                                    base.weights.format,
                                    row.whole("isl", 0),
                                    row.whole("osl", 0),
                                    static_cast<int>(point.load.concurrency),
                                    !row.text("kv_format").empty()};
      if (row.text("dataset").find("inferencex") != std::string::npos &&
          set_inferencex_options(pool.options, published)) {
        point.assumed.emplace_back("limits: InferenceX's launch command");
      }
      point.deployment.pool = with_engine_defaults(pool);
      if (row.text("flags").starts_with("trtllm-bench") && base.max_num_seqs == 0 &&
          base.max_num_batched_tokens == 0) {
        set_bench_limits(point);
      }
    }
    if (!has_kv_layout(s.model)) throw UnusablePoint{"the model has no known key-value layout"};
  }

  // trtllm-bench chooses them where its command states none.
  static void set_bench_limits(MeasuredService& point) {
    const ServingScenario& s = *point.scenario;
    ReplicaOptions& options = point.deployment.pool.options;
    const RequestLengths& lengths = point.load.lengths;
    const double request = lengths.input + lengths.output;
    const ReplicaMemory memory = replica_memory(s.model, only_device(s.cluster), s.engine, options);
    const ReplicaLayout& layout = options.layout;
    const BenchLimits limits =
        trtllm_bench_limits(memory.requests_of(request) * layout.data_parallel_size, lengths.input,
                            lengths.output, layout.pipeline_parallel_size);
    // The limits are those of a stage's batch; a step here is that of all stages.
    options.max_num_seqs = limits.max_batch_size * layout.pipeline_parallel_size;
    options.max_num_batched_tokens = limits.max_num_tokens * layout.pipeline_parallel_size;
    point.assumed.emplace_back("limits: those that trtllm-bench chooses");
  }

  static KvCacheFormat kv_format_of(const PointRow& row, MeasuredService& point,
                                    WeightFormat weights) {
    const std::string stated = row.text("kv_format");
    if (stated.starts_with("fp8")) return KvCacheFormat::fp8;
    if (stated.starts_with("bf16")) return KvCacheFormat::bf16;
    const ServingScenario& s = *point.scenario;
    const bool narrow = weights != WeightFormat::bf16 && weights != WeightFormat::int4;
    const bool hopper = only_device(s.cluster).architecture == "hopper";
    // What published launch commands of these engines say.
    const bool keeps =
        (s.engine.kind == EngineKind::sglang && hopper && s.model.mla) ||
        (s.engine.kind == EngineKind::vllm && (hopper || weights == WeightFormat::mxfp4));
    const KvCacheFormat format = narrow && !keeps ? KvCacheFormat::fp8 : KvCacheFormat::bf16;
    point.assumed.push_back(fmt::format("cache: {}", name_of(format)));
    return format;
  }

  static void read_measured(const PointRow& row, MeasuredService& point) {
    const auto set = [&](ServingQuantity q, std::optional<double> value) {
      if (value && *value > 0) point.measured[place_of(q)] = value;
    };
    const auto milli = [&](const char* column) -> std::optional<double> {
      const auto value = row.number(column);
      return value ? std::optional(*value * 1e-3) : std::nullopt;
    };
    const bool waits = point.load.kind != LoadKind::all_at_once;
    set(ServingQuantity::tpot_mean, milli("tpot_mean_ms"));
    set(ServingQuantity::tpot_p99, milli("tpot_p99_ms"));
    set(ServingQuantity::itl_mean, milli("itl_mean_ms"));
    if (waits) {
      set(ServingQuantity::ttft_mean, milli("ttft_mean_ms"));
      set(ServingQuantity::ttft_p50, milli("ttft_p50_ms"));
      set(ServingQuantity::ttft_p99, milli("ttft_p99_ms"));
      set(ServingQuantity::e2e_mean, milli("e2e_mean_ms"));
    }
    set(ServingQuantity::output_tps, row.number("output_tps"));
    set(ServingQuantity::kv_tokens, row.number("kv_tokens"));
    const auto ttft = milli("ttft_mean_ms"), tpot = milli("tpot_mean_ms");
    if (point.load.kind != LoadKind::closed_loop || row.number("output_tps") || !ttft || !tpot) {
      return;
    }
    // Little's law: X = C / E2E.
    const double output = mean_output(point.load.lengths);
    const double e2e = *ttft + *tpot * (output - 1.0);
    set(ServingQuantity::e2e_mean, e2e);
    set(ServingQuantity::output_tps, point.load.concurrency * output / e2e);
  }

  const StatedService& stated_;
  std::map<std::string, std::shared_ptr<const ServingScenario>> scenarios_;
};

// Rows through a reader; those that it cannot use, with their reason.
template <typename Read>
planner::MeasuredServices points_of_rows(const interop::CsvTable& table,
                                         const StatedService& stated, const Read& read) {
  planner::MeasuredServices set;
  set.name = std::filesystem::path(table.file).filename().string();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const PointRow row(table, i, stated);
    try {
      set.points.push_back(read(row));
    } catch (const UnusablePoint& unusable) {
      set.unread.push_back({row.text("id"), unusable.reason, table.lines[i]});
    }
  }
  return set;
}

}  // namespace

planner::MeasuredServices points_in_table(const interop::CsvTable& table,
                                          const StatedService& stated) {
  PointReader reader(stated);
  return points_of_rows(table, stated, [&](const PointRow& row) { return reader.read(row); });
}

planner::MeasuredServices results_of_service(const interop::CsvTable& table,
                                             const planner::MeasuredService& service) {
  return points_of_rows(table, StatedService{}, [&](const PointRow& row) {
    return PointReader::read_result(row, service);
  });
}

}  // namespace meshwright::app
