// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/measured_set_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "planner/accuracy/list_limit.h"
#include "planner/accuracy/unstated.h"
#include "sim/base/error.h"
#include "sim/json/input_records.h"
#include "sim/json/records.h"
#include "sim/record/without_key.h"

namespace meshwright::planner {
namespace {

constexpr std::size_t kMostRuns = 10'000;

const Record<MeasuredNumbers>& measured_record() {
  return described([](Record<MeasuredNumbers>& r) {
    using M = MeasuredNumbers;
    r.about("What was measured.");
    r.row<&M::status>(kRunStatusNames, "Default: ok. failed: no result, reason unknown.");
    r.row<&M::step_time>("step_seconds", kAboveZero, "Time of a step.");
    r.row<&M::peak_memory>(kAboveZero, "Allocated memory at its peak, of the rank that has most.");
  });
}

// A part that is read when others are known.
Kind<Json> read_later(Json (*schema)()) {
  return {
      {.read = [](ObjectReader& reader, const std::string& key,
                  Json& value) { value = reader.member(key); },
       .write = [](Json& json, const std::string& key, const Json& value) { json[key] = value; },
       .schema = schema}};
}

Json name_or(const Json& schema) {
  return {{"anyOf", Json::array({Json{{"type", "string"}}, schema})}};
}

// A layout file's, with this format's words beside (in_our_words).
Json stated_layout_schema() {
  Json schema = layout_record().schema();
  Json& properties = schema["properties"];
  properties["recompute"] = properties["recompute_granularity"];
  properties["schedule"] = {{"type", "string"}, {"description", "A name that --schedule takes."}};
  return schema;
}

const Record<StatedRun>& stated_run_record() {
  return described([](Record<StatedRun>& r) {
    using R = StatedRun;
    r.about("One run.");
    r.row<&R::id>("Name of the run.").required();
    r.row<&R::group>("Layouts are ranked inside a group: one model, job and cluster.");
    r.required();
    r.row<&R::source>("Where this run was published, if the set has several sources.");
    r.omitted_at_default();
    r.row<&R::model>(read_later([] {
                       return name_or({{"type", "object"}});
                     }),
                     "A file of configs/models, a path, a model, or a Hugging Face config.");
    r.required();
    r.row<&R::gpus>("GPUs of the run.").required();
    r.row<&R::cluster>(read_later([] { return name_or(cluster_record().schema()); }),
                       "A file of configs/clusters, a path, or a cluster.");
    r.required();
    r.row<&R::framework>(
        "A file of configs/frameworks or a path; default: the cluster's framework.");
    r.row<&R::job>(read_later([] { return job_record().schema(); }), "The fields of a job file.");
    r.required();
    r.row<&R::layout>(
        read_later(stated_layout_schema),
        "The fields of a layout file. recompute stands for recompute_granularity, and schedule "
        "may be written with hyphens.");
    r.required();
    r.row<&R::measured>(measured_record).required();
  });
}

StatedKeys keys_of(const Json& json) {
  StatedKeys keys;
  for (const auto& [key, value] : json.items()) keys.insert(key);
  return keys;
}

// This format says "recompute" and "zb-h1" where a layout file says recompute_granularity and
// zb_h1.
Json in_our_words(Json layout) {
  if (!layout.is_object()) return layout;
  if (layout.contains("recompute")) {
    const Json granularity = layout["recompute"];
    layout["recompute_granularity"] = granularity;
    layout = without_key(std::move(layout), "recompute");
  }
  if (layout.contains("schedule") && layout["schedule"].is_string()) {
    auto name = layout["schedule"].get<std::string>();
    std::replace(name.begin(), name.end(), '-', '_');
    layout["schedule"] = name;
  }
  return layout;
}

class RunReader {
 public:
  RunReader(const std::string& file, const NamedRecords& named, const MeasuredWhere& where)
      : file_(file), named_(named), where_(where) {}

  MeasuredRun read(const StatedRun& stated, const std::string& pointer) {
    MeasuredRun run;
    run.id = stated.id;
    run.group = stated.group;
    run.source = stated.source;
    run.model = model(stated, pointer + "/model");
    const Cluster own = cluster(stated, pointer + "/cluster");
    run.cluster = scaled_to(where_.cluster ? *where_.cluster : own, stated.gpus);
    set_framework(run.cluster, stated, pointer + "/framework");
    run.job = job(stated, run, pointer + "/job");
    run.layout = layout(stated, run, pointer + "/layout");
    run.status = stated.measured.status;
    run.step_time = stated.measured.step_time;
    run.peak_memory = stated.measured.peak_memory;
    return run;
  }

 private:
  // A file that a run names; when it is wrong, the run is named, too.
  template <typename Load>
  auto load_named(const std::string& name, const std::string& pointer, const Load& load) const {
    try {
      return load(name);
    } catch (const InputError& error) {
      throw InputError(file_, pointer, error.what(), error.hint());
    }
  }

  [[nodiscard]] Model model(const StatedRun& run, const std::string& pointer) const {
    if (!run.model.is_string()) return named_.inline_model(run.model, file_, pointer);
    return load_named(run.model.get<std::string>(), pointer, named_.model);
  }

  Cluster cluster(const StatedRun& run, const std::string& pointer) {
    if (!run.cluster.is_string()) return cluster_from_json(run.cluster, file_, pointer);
    const auto name = run.cluster.get<std::string>();
    const auto found = clusters_.find(name);
    if (found != clusters_.end()) return found->second;
    return clusters_.emplace(name, load_named(name, pointer, named_.cluster)).first->second;
  }

  // The run's own framework, or its cluster's.
  void set_framework(Cluster& cluster, const StatedRun& run, const std::string& pointer) const {
    if (run.framework || where_.framework) cluster.framework_assumed = false;
    if (where_.framework) {
      cluster.framework = *where_.framework;
    } else if (run.framework) {
      cluster.framework = load_named(*run.framework, pointer, named_.framework);
    }
  }

  [[nodiscard]] Job job(const StatedRun& run, const MeasuredRun& read,
                        const std::string& pointer) const {
    const Job job = job_from_json(run.job, file_, pointer, read.cluster.framework.defaults.job);
    return with_unstated(job, keys_of(run.job), read.model);
  }

  [[nodiscard]] Layout layout(const StatedRun& run, const MeasuredRun& read,
                              const std::string& pointer) const {
    const Json json = in_our_words(run.layout);
    const Layout layout =
        layout_from_json(json, file_, pointer, read.cluster.framework.defaults.layout);
    const StatedKeys keys = keys_of(json);
    const Layout whole = with_unstated(layout, keys, read.model, read.job, run.gpus);
    return keys.contains("moe_token_dispatcher_type") ? whole
                                                      : with_proven_dispatcher(whole, read.cluster);
  }

  const std::string& file_;
  const NamedRecords& named_;
  const MeasuredWhere& where_;
  std::map<std::string, Cluster> clusters_;
};

std::string id_in(const Json& run) {
  if (!run.is_object() || !run.contains("id")) return "";
  return run["id"].is_string() ? run["id"].get<std::string>() : run["id"].dump();
}

// Without the file and the place, which stand before it.
std::string reason_of(const InputError& error, const std::string& file,
                      const std::string& pointer) {
  std::string text = error.what();
  for (const std::string& before : {file + ": ", pointer + ": ", pointer + "/"}) {
    if (text.starts_with(before)) text.erase(0, before.size());
  }
  return error.hint().empty() ? text : fmt::format("{} ({})", text, error.hint());
}

}  // namespace

const Record<StatedSet>& measured_set_record() {
  return described([](Record<StatedSet>& r) {
    using S = StatedSet;
    r.about("Measured training runs, for meshwright backtest.");
    r.file_of({"meshwright.measurements/1"}, true);
    r.row<&S::name>("Name of the set.").required();
    r.row<&S::source>("Where the runs were published or logged.");
    r.row<&S::assumed>("What the source does not state and was filled in.");
    limit_list(r, "runs", kMostRuns);
    r.row<&S::runs>(stated_run_record, "The runs.").required();
    r.row<&S::left_out>(unread_run_record, "What an import could not read, and why.");
    r.omitted_at_default();
  });
}

const Record<UnreadRun>& unread_run_record() {
  return described([](Record<UnreadRun>& r) {
    using R = UnreadRun;
    r.about("A run that cannot be read and is left out.");
    r.row<&R::file>();
    r.row<&R::place>("JSON pointer, or row and line of a table.");
    r.row<&R::id>("Empty: it says none.");
    r.row<&R::reason>();
    r.named("UnreadRun").all_required();
  });
}

std::string unread_text(const UnreadRun& run) {
  return fmt::format("{}: {}{} is left out: {}", run.file, run.place,
                     run.id.empty() ? "" : fmt::format(" (\"{}\")", run.id), run.reason);
}

MeasuredSet measured_set_from_json(const Json& json, const std::string& file,
                                   const NamedRecords& named, const MeasuredWhere& where) {
  const bool lists = json.is_object() && json.contains("runs") && json["runs"].is_array() &&
                     json["runs"].size() <= kMostRuns;
  // Each run is read alone, so that a wrong one does not take the others with it.
  Json rest = json;
  if (lists) rest["runs"] = Json::array();
  const StatedSet stated = measured_set_record().read(rest, file);
  MeasuredSet set{stated.name, stated.source, stated.assumed, {}, stated.left_out};
  RunReader run_reader(file, named, where);
  std::optional<InputError> first;
  for (std::size_t i = 0; lists && i < json["runs"].size(); ++i) {
    const Json& run = json["runs"][i];
    const std::string pointer = fmt::format("/runs/{}", i);
    try {
      set.runs.push_back(run_reader.read(stated_run_record().read(run, file, pointer), pointer));
    } catch (const InputError& error) {
      if (!first) first = error;
      set.unread.push_back({file, pointer, id_in(run), reason_of(error, file, pointer)});
    }
  }
  if (first && set.runs.empty()) throw *first;
  return set;
}

}  // namespace meshwright::planner
