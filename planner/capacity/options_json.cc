// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/options_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/json/reader.h"

namespace meshwright::planner {
namespace {

constexpr NumberRange kPositive{.low = 0.0, .high = 1e300, .low_excluded = true};

void check_interval(ObjectReader& reader, const Ranged& ranged) {
  const bool ordered = ranged.low <= ranged.value && ranged.value <= ranged.high;
  if (!ordered) reader.fail("low", "low, value and high must be in this order");
}

Ranged read_ranged(ObjectReader reader) {
  Ranged ranged;
  ranged.value = reader.required_number("value");
  ranged.low = reader.optional_number("low", ranged.value);
  ranged.high = reader.optional_number("high", ranged.value);
  ranged.basis = reader.optional_string("basis", "stated");
  ranged.source = reader.optional_string("source", "");
  constexpr std::array<std::string_view, 5> kBases{"stated", "measured", "fitted", "datasheet",
                                                   "assumed"};
  if (std::find(kBases.begin(), kBases.end(), ranged.basis) == kBases.end()) {
    reader.fail("basis", fmt::format("must be one of {}", fmt::join(kBases, ", ")));
  }
  check_interval(reader, ranged);
  reader.finish();
  return ranged;
}

// A number, or one with its interval.
Ranged ranged_in(ObjectReader& reader, std::string_view key, const Ranged& otherwise) {
  if (!reader.has(key)) return otherwise;
  if (reader.member(key).is_number()) return stated(reader.required_number(key));
  return read_ranged(reader.required_object(key));
}

std::optional<Ranged> ranged_if_any(ObjectReader& reader, std::string_view key) {
  if (!reader.has(key)) return std::nullopt;
  return ranged_in(reader, key, {});
}

std::optional<double> positive_if_any(ObjectReader& reader, std::string_view key) {
  if (!reader.has(key)) return std::nullopt;
  return reader.required_number(key, kPositive);
}

// Part `key`, read by `read` where it is there.
template <typename Part, typename Read>
void read_part(ObjectReader& reader, std::string_view key, Part& part, const Read& read) {
  if (!reader.has(key)) return;
  ObjectReader inner = reader.required_object(key);
  read(inner, part);
  inner.finish();
}

void read_failures(ObjectReader& reader, FailureOptions& f) {
  f.per_thousand_node_days = ranged_in(reader, "per_thousand_node_days", f.per_thousand_node_days);
  if (f.per_thousand_node_days.value <= 0.0) {
    reader.fail("per_thousand_node_days", "must be above 0");
  }
  f.detection_seconds = ranged_in(reader, "detection_seconds", f.detection_seconds);
  f.restart_seconds = ranged_in(reader, "restart_seconds", f.restart_seconds);
  f.repair_days = ranged_in(reader, "repair_days", f.repair_days);
  f.spares_target = ranged_in(reader, "spares_target", f.spares_target);
  f.independent_replicas = reader.optional_int("independent_replicas", f.independent_replicas);
  f.catch_up_seconds = ranged_in(reader, "catch_up_seconds", f.catch_up_seconds);
}

void read_checkpoint(ObjectReader& reader, CheckpointOptions& c) {
  c.asynchronous = reader.optional_bool("asynchronous", c.asynchronous);
  c.pause_seconds = ranged_in(reader, "pause_seconds", c.pause_seconds);
  c.storage_gb_per_s_per_node =
      ranged_in(reader, "storage_gb_per_s_per_node", c.storage_gb_per_s_per_node);
  if (c.storage_gb_per_s_per_node.value <= 0.0) {
    reader.fail("storage_gb_per_s_per_node", "must be above 0");
  }
  c.with_16_bit_weights = reader.optional_bool("with_16_bit_weights", c.with_16_bit_weights);
  c.persist_seconds = positive_if_any(reader, "persist_seconds");
  c.load_seconds = positive_if_any(reader, "load_seconds");
  c.interval_seconds = positive_if_any(reader, "interval_seconds");
}

void read_power(ObjectReader& reader, PowerOptions& p) {
  p.kilowatts_per_gpu = ranged_if_any(reader, "kilowatts_per_gpu");
  p.node_over_devices = ranged_in(reader, "node_over_devices", p.node_over_devices);
  p.share_of_rating = ranged_in(reader, "share_of_rating", p.share_of_rating);
  p.waiting_share = ranged_in(reader, "waiting_share", p.waiting_share);
  p.pue = ranged_in(reader, "pue", p.pue);
  p.kg_co2_per_kwh = ranged_if_any(reader, "kg_co2_per_kwh");
}

std::optional<Date> date_if_any(ObjectReader& reader, std::string_view key) {
  if (!reader.has(key)) return std::nullopt;
  const std::string text = reader.required_string(key);
  const auto date = date_from_text(text);
  if (!date) reader.fail(key, fmt::format("must be a day such as 2027-03-31, is \"{}\"", text));
  return date;
}

void read_capacity_limits(ObjectReader& reader, CapacityLimits& limits) {
  limits.deadline_days = positive_if_any(reader, "deadline_days");
  limits.deadline = date_if_any(reader, "deadline");
  if (limits.deadline && limits.deadline_days) {
    reader.fail("deadline", "stands beside deadline_days", "state one of the two");
  }
  limits.budget = positive_if_any(reader, "budget");
  limits.max_megawatts = positive_if_any(reader, "max_megawatts");
  if (reader.has("max_gpus")) limits.max_gpus = reader.required_int("max_gpus");
}

std::vector<int> read_counts(ObjectReader& reader, std::string_view key) {
  std::vector<int> counts;
  if (!reader.has(key)) return counts;
  for (const Json& count : reader.required_array(key)) {
    const bool good = count.is_number_integer() && count > 0 && count <= 100'000'000;
    if (!good) reader.fail(key, "must be an array of whole numbers from 1 to 100000000");
    counts.push_back(count.get<int>());
  }
  return counts;
}

std::vector<BatchPhase> read_schedule(ObjectReader& reader) {
  std::vector<BatchPhase> phases;
  if (!reader.has("schedule")) return phases;
  const Json& list = reader.required_array("schedule");
  for (std::size_t i = 0; i < list.size(); ++i) {
    ObjectReader phase(list[i], reader.file(),
                       fmt::format("{}/{}", reader.pointer_to("schedule"), i));
    const bool last = i + 1 == list.size();
    const double before = phases.empty() ? 0.0 : phases.back().until_tokens;
    phases.push_back({.until_tokens = last ? 0.0 : phase.required_number("until_tokens"),
                      .global_batch_size = phase.required_int("global_batch_size"),
                      .seq_length = phase.required_int("seq_length")});
    if (!last && phases.back().until_tokens <= before) {
      phase.fail("until_tokens", "must grow from phase to phase");
    }
    phase.finish();
  }
  return phases;
}

ReferenceRun read_reference(ObjectReader reader) {
  ReferenceRun run;
  run.name = reader.required_string("name");
  run.source = reader.required_string("source");
  run.gpus = reader.required_int("gpus");
  run.gpu_hours = reader.required_number("gpu_hours", kPositive);
  run.layout = reader.optional_string("layout", "");
  run.step_seconds = positive_if_any(reader, "step_seconds");
  const auto share = [&](const char* key) {
    const auto value = positive_if_any(reader, key);
    if (value && *value > 1.0) reader.fail(key, "is a share, at most 1");
    return value;
  };
  run.goodput = share("goodput");
  run.model_flops_utilization = share("model_flops_utilization");
  run.mean_time_between_hours = positive_if_any(reader, "mean_time_between_hours");
  reader.finish();
  return run;
}

Price read_price(ObjectReader reader) {
  Price price;
  price.cluster = reader.optional_string("cluster", "");
  price.device = reader.optional_string("device", "");
  if (price.cluster.empty() == price.device.empty()) {
    reader.fail("device", "names either a cluster or a device");
  }
  price.per_gpu_hour = ranged_in(reader, "per_gpu_hour", {});
  if (price.per_gpu_hour.value <= 0.0) reader.fail("per_gpu_hour", "must be above 0");
  reader.finish();
  return price;
}

}  // namespace

CapacitySection capacity_section(const Json& job, const std::string& file) {
  CapacitySection section;
  if (!job.is_object() || !job.contains("capacity")) return section;
  ObjectReader reader(job.at("capacity"), file, "/capacity");
  CapacityOptions& options = section.options;
  section.model = reader.optional_string("model", "");
  section.clusters = reader.optional_strings("clusters");
  section.gpus = read_counts(reader, "gpus");
  section.global_batch_sizes = read_counts(reader, "global_batch_sizes");
  section.prices = reader.optional_string("prices", "");
  read_part(reader, "failures", options.failures, read_failures);
  read_part(reader, "checkpoint", options.checkpoint, read_checkpoint);
  read_part(reader, "power", options.power, read_power);
  read_part(reader, "limits", options.limits, read_capacity_limits);
  options.schedule = read_schedule(reader);
  options.evaluation_share =
      reader.optional_number("evaluation_share", 0.0, {.low = 0.0, .high = 1.0});
  options.step_time_spread = ranged_in(reader, "step_time_spread", options.step_time_spread);
  if (options.step_time_spread.value < 0.0 || options.step_time_spread.value > 1.0) {
    reader.fail("step_time_spread", "is a share of the step, from 0 to 1");
  }
  options.start = date_if_any(reader, "start");
  if (reader.has("reference")) {
    options.reference = read_reference(reader.required_object("reference"));
  }
  reader.finish();
  return section;
}

PriceList prices_from_json(const Json& json, const std::string& file) {
  ObjectReader reader(json, file);
  const std::string schema = reader.required_string("schema");
  if (schema != "meshwright.prices/1") {
    reader.fail("schema", "must be \"meshwright.prices/1\", is \"" + schema + "\"");
  }
  PriceList list;
  list.name = reader.required_string("name");
  list.date = reader.required_string("date");
  list.source = reader.required_string("source");
  list.currency = reader.required_string("currency");
  list.example = reader.optional_bool("example", false);
  const Json& prices = reader.required_array("prices");
  for (std::size_t i = 0; i < prices.size(); ++i) {
    list.prices.push_back(read_price({prices[i], file, fmt::format("/prices/{}", i)}));
  }
  reader.finish();
  return list;
}

}  // namespace meshwright::planner
