// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <mutex>
#include <set>

#include "sim/base/trial_mode.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/placement.h"
#include "sim/json/records.h"
#include "sim/layout/short_name.h"
#include "sim/record/reader.h"
#include "sim/step/terms.h"
#include "sim/volume/volume.h"

namespace meshwright {
namespace {

// Transfer::name views text that lives as long as the program: a literal, or, read from a file, an
// entry here. A run knows a few dozen names.
std::string_view lasting(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> texts;
  const std::lock_guard lock(mutex);
  return *texts.insert(text).first;
}

template <typename Read>
void for_each(ObjectReader& reader, std::string_view key, const Read& read) {
  if (!reader.has(key)) return;
  const Json& array = reader.required_array(key);
  for (std::size_t i = 0; i < array.size(); ++i) {
    read(array[i], fmt::format("{}/{}", reader.pointer_to(key), i));
  }
}

ObservedTerm read_term(ObjectReader reader) {
  ObservedTerm term;
  (void)reader.member("name");
  term.kind = reader.optional_enum("name", TermKind::forward_compute, kTermNames);
  term.time = seconds(reader.required_number("seconds"));
  reader.finish();
  return term;
}

void read_transfer(ObjectReader reader, Observation& o) {
  Transfer t;
  t.name = lasting(reader.required_string("name"));
  t.group = reader.optional_enum("group", Group::tensor, kGroupNames);
  t.collective = reader.optional_enum("collective", Collective::all_reduce, kCollectiveNames);
  t.phase = reader.optional_enum("phase", Phase::forward, kPhaseNames);
  t.group_size = reader.required_int("group_size");
  t.times_per_step = reader.required_number("times_per_step");
  t.payload = bytes(reader.required_number("payload_bytes"));
  t.formula = lasting(reader.optional_string("formula", ""));
  t.overlappable = reader.optional_bool("overlappable", false);
  if (reader.has("measured_seconds")) {
    o.counted_time.push_back(seconds(reader.required_number("measured_seconds")));
  }
  reader.finish({"payload_per_step_bytes", "sent_per_step_bytes"});
  o.counted.push_back(t);
}

Layout read_layout(ObjectReader& reader, std::string_view key) {
  return layout_from_json(reader.member(key), reader.file(), reader.pointer_to(key));
}

void read_times(ObjectReader& reader, Observation& o) {
  o.step_time = seconds(reader.required_number("step_time_seconds"));
  o.step_time_p10 = seconds(reader.optional_number("step_time_p10_seconds", o.step_time.value()));
  o.step_time_p90 = seconds(reader.optional_number("step_time_p90_seconds", o.step_time.value()));
  o.step_time_min = seconds(reader.optional_number("step_time_min_seconds", o.step_time.value()));
  o.step_time_drift = reader.optional_number("step_time_drift", 0.0, {.low = -1.0});
  if (reader.has("host_time_ratio")) {
    o.host_time_ratio = reader.required_number("host_time_ratio");
  }
  o.runs = reader.optional_int("runs", 1, {.low = 1});
  for_each(reader, "terms", [&](const Json& json, const std::string& pointer) {
    o.terms.push_back(read_term(ObjectReader(json, reader.file(), pointer)));
  });
}

void read_not_run(ObjectReader& reader, Observation& o) {
  for_each(reader, "not_run", [&](const Json& json, const std::string& pointer) {
    if (!json.is_string()) throw InputError(reader.file(), pointer, "must be text");
    o.not_run.push_back(json.get<std::string>());
  });
}

}  // namespace

Observation observation_from_json(const Json& json, const std::string& file,
                                  const std::string& pointer) {
  ObjectReader reader(json, file, pointer);
  Observation o;
  o.layout = read_layout(reader, "layout");
  o.run_layout = reader.has("run_layout") ? read_layout(reader, "run_layout") : o.layout;
  o.run_layers = reader.required_int("run_layers", {.low = 0});
  o.run_num_moe_experts = reader.optional_int("run_num_moe_experts", 0, {.low = 0});
  o.run_global_batch_size = reader.optional_int("run_global_batch_size", 0, {.low = 0});
  if (reader.has("run_precision")) {
    o.run_precision = reader.optional_enum("run_precision", Precision::fp32, kPrecisionNames);
  }
  o.ranks = reader.required_int("ranks", {.low = 0});
  o.steps = reader.required_int("steps", {.low = 0});
  o.complete = reader.optional_bool("complete", true);
  read_not_run(reader, o);
  read_times(reader, o);
  for_each(reader, "counted", [&](const Json& transfer, const std::string& at) {
    read_transfer(ObjectReader(transfer, file, at), o);
  });
  if (o.counted_time.size() != o.counted.size() && !o.counted_time.empty()) {
    throw InputError(file, pointer + "/counted", "has measured_seconds in some entries only");
  }
  o.mode = reader.optional_enum("mode", TrialMode::training, kTrialModeNames);
  o.tokens_per_second = reader.optional_number("tokens_per_second", 0.0, {.low = 0.0});
  o.peak_memory = bytes(reader.optional_number("peak_memory_bytes", 0.0));
  o.loss = reader.optional_number("loss", 0.0, {.low = -1e300});
  o.device = reader.optional_string("device", "");
  o.failure = reader.optional_string("failure", "");
  reader.finish({"short_name", "step_time_error", "noisy"});
  return o;
}

Json to_json(const Observation& o) {
  Json terms = Json::array();
  for (const ObservedTerm& term : o.terms) {
    terms.push_back({{"name", name_of(term.kind)}, {"seconds", term.time.value()}});
  }
  Json counted = Json::array();
  for (std::size_t i = 0; i < o.counted.size(); ++i) {
    counted.push_back(to_json(o.counted[i]));
    if (i < o.counted_time.size()) {
      counted.back()["measured_seconds"] = o.counted_time[i].value();
    }
  }
  Json json;
  json["short_name"] = short_name(o.layout);
  json["layout"] = to_json(o.layout);
  json["run_layout"] = to_json(o.run_layout);
  json["run_layers"] = o.run_layers;
  if (o.run_num_moe_experts > 0) json["run_num_moe_experts"] = o.run_num_moe_experts;
  json["run_global_batch_size"] = o.run_global_batch_size;
  if (o.run_precision) json["run_precision"] = name_of(*o.run_precision);
  json["ranks"] = o.ranks;
  json["steps"] = o.steps;
  json["complete"] = o.complete;
  json["not_run"] = o.not_run;
  json["step_time_seconds"] = o.step_time.value();
  json["step_time_p10_seconds"] = o.step_time_p10.value();
  json["step_time_p90_seconds"] = o.step_time_p90.value();
  json["step_time_min_seconds"] = o.step_time_min.value();
  json["step_time_drift"] = o.step_time_drift;
  json["step_time_error"] = step_time_error(o);
  if (o.host_time_ratio) json["host_time_ratio"] = *o.host_time_ratio;
  if (o.runs > 1) json["runs"] = o.runs;
  json["noisy"] = is_noisy(o);
  json["terms"] = std::move(terms);
  json["counted"] = std::move(counted);
  json["peak_memory_bytes"] = o.peak_memory.value();
  json["loss"] = o.loss;
  json["device"] = o.device;
  json["mode"] = name_in(kTrialModeNames, o.mode);
  json["tokens_per_second"] = o.tokens_per_second;
  json["failure"] = o.failure;
  return json;
}

}  // namespace meshwright
