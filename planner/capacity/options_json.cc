// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/options_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace meshwright::planner {
namespace {

constexpr IntRange kCount{1, 100'000'000};

const Record<Ranged>& interval_record() {
  static const Record<Ranged> record = [] {
    constexpr std::array<std::string_view, 5> kBases{"stated", "measured", "fitted", "datasheet",
                                                     "assumed"};
    const std::vector<std::string_view> bases(kBases.begin(), kBases.end());
    Record<Ranged> r("A number and its 90 % interval.");
    r.row<&Ranged::value>("The number.");
    r.required();
    r.row<&Ranged::low>("Lower end; default: value.");
    r.default_from([](Ranged& ranged) { ranged.low = ranged.value; });
    r.row<&Ranged::high>("Upper end; default: value.");
    r.default_from([](Ranged& ranged) { ranged.high = ranged.value; });
    r.row<&Ranged::basis>(
        kind::text().with(
            {.read = [bases](
                         ObjectReader& reader, const std::string& key,
                         std::string& value) { value = bases[read_choice(reader, key, bases)]; },
             .schema = [bases] { return choice_schema(bases); }}),
        "What the number rests on.");
    r.default_from([](Ranged& ranged) { ranged.basis = "stated"; });
    r.row<&Ranged::source>("Where it comes from.");
    r.check([](const Ranged& ranged, ObjectReader& reader) {
      const bool ordered = ranged.low <= ranged.value && ranged.value <= ranged.high;
      if (!ordered) reader.fail("low", "low, value and high must be in this order");
    });
    return r;
  }();
  return record;
}

// A number, or one with its interval.
Kind<Ranged> ranged() {
  return kind::object(interval_record)
      .with({.read =
                 [](ObjectReader& reader, const std::string& key, Ranged& value) {
                   value = reader.member(key).is_number() ? stated(reader.required_number(key))
                                                          : Ranged{};
                   if (!reader.member(key).is_number()) {
                     kind::object(interval_record).read(reader, key, value);
                   }
                 },
             .schema =
                 [] {
                   return Json{{"anyOf", Json::array({kind::number().schema(),
                                                      interval_record().schema()})}};
                 }});
}

// The same for a part of a whole: its ends are 0 to 1.
Kind<Ranged> ranged_fraction() {
  const Kind<Ranged> any = ranged();
  return any.with({.read =
                       [any](ObjectReader& reader, const std::string& key, Ranged& value) {
                         any.read(reader, key, value);
                         if (value.high <= 1.0) return;
                         reader.fail(
                             key, fmt::format("must be a share from 0 to 1 (got {})", value.high));
                       },
                   .schema =
                       [any] {
                         Json json = any.schema();
                         json["anyOf"][0]["maximum"] = 1.0;
                         for (const char* end : {"value", "low", "high"}) {
                           json["anyOf"][1]["properties"][end]["maximum"] = 1.0;
                         }
                         return json;
                       }});
}

// The member of T that `key` names is above 0.
template <typename T>
void check_positive(Record<T>& record, Ranged T::*member, const char* key) {
  record.check([member, key](const T& value, ObjectReader& reader) {
    if ((value.*member).value <= 0.0) reader.fail(key, "must be above 0");
  });
}

const Record<FailureOptions>& failures_record() {
  return described([](Record<FailureOptions>& r) {
    using F = FailureOptions;
    r.about("Failures and what follows from one.");
    r.row<&F::per_thousand_node_days>(ranged(), "Failures of 1,000 nodes of eight GPUs a day.");
    check_positive(r, &F::per_thousand_node_days, "per_thousand_node_days");
    r.row<&F::detection_seconds>(ranged(), "Time until a failure is seen.");
    r.row<&F::restart_seconds>(ranged(), "Time from there to the first step.");
    r.row<&F::repair_days>(ranged(), "Time until a node is back.");
    r.row<&F::spares_target>(ranged_fraction(),
                             "Share of the time in which spare nodes are enough.");
    r.row<&F::spare_nodes>(
        IntRange{.low = 0},
        "Spare nodes of eight GPUs that are reserved; default: as many as spares_target needs.");
    r.row<&F::independent_replicas>(
        "Groups that fail alone and are filled again while others train.");
    r.row<&F::catch_up_seconds>(ranged(),
                                "Time that others wait for a group that is filled again.");
  });
}

const Record<CheckpointOptions>& checkpoint_record() {
  return described([](Record<CheckpointOptions>& r) {
    using C = CheckpointOptions;
    r.about("Checkpoints.");
    r.row<&C::asynchronous>("Saved to the host, then written while training goes on.");
    r.row<&C::pause_seconds>(ranged(), "Time that an asynchronous save stops training.");
    r.row<&C::storage_gb_per_s_per_node>(ranged(),
                                         "Storage bandwidth of a node of eight GPUs, both ways.");
    check_positive(r, &C::storage_gb_per_s_per_node, "storage_gb_per_s_per_node");
    r.row<&C::with_16_bit_weights>("16-bit weights are saved beside the optimizer's fp32.");
    r.row<&C::persist_seconds>(
        kAboveZero, "Measured time to write one; default: bytes over the storage's bandwidth.");
    r.row<&C::load_seconds>(kAboveZero, "Measured time to load one; likewise.");
    r.row<&C::interval_seconds>(kAboveZero,
                                "Time between two; default: the best for the expected failures.");
  });
}

const Record<PowerOptions>& power_record() {
  return described([](Record<PowerOptions>& r) {
    using P = PowerOptions;
    r.about("Power of nodes and site.");
    r.row<&P::kilowatts_per_gpu>(ranged(), "Measured power a GPU, with its share of the node.");
    r.row<&P::node_over_devices>(ranged(), "A node's rating over its devices'.");
    r.row<&P::share_of_rating>(ranged_fraction(), "Share of it that training draws.");
    r.row<&P::waiting_share>(ranged_fraction(), "Share that a waiting node draws.");
    r.row<&P::pue>(ranged(), "Power of the site over that of its machines.");
    r.row<&P::kg_co2_per_kwh>(ranged(), "Emissions of the site's electricity.");
  });
}

void read_date(ObjectReader& reader, const std::string& key, Date& value) {
  const std::string text = reader.required_string(key);
  const auto date = date_from_text(text);
  if (!date) reader.fail(key, fmt::format("must be a day such as 2027-03-31 (got \"{}\")", text));
  value = *date;
}

Kind<std::optional<Date>> optional_date() {
  return kind::optional(Kind<Date>{
      {.read = read_date,
       .write = [](Json& json, const std::string& key,
                   const Date& value) { json[key] = date_text(value); },
       .schema =
           [] {
             return Json{{"type", "string"}, {"pattern", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}};
           }}});
}

const Record<CapacityLimits>& limits_record() {
  return described([](Record<CapacityLimits>& r) {
    using L = CapacityLimits;
    r.about("Limits that 9 of 10 runs must keep.");
    r.row<&L::deadline_days>(kAboveZero, "Days of the training.");
    r.row<&L::deadline>(optional_date(), "Its last day instead; needs start.");
    r.check([](const L& limits, ObjectReader& reader) {
      if (!limits.deadline || !limits.deadline_days) return;
      reader.fail("deadline", "stands beside deadline_days", "state one of the two");
    });
    r.row<&L::budget>(kAboveZero, "Cost in the price list's currency.");
    r.row<&L::max_megawatts>(kAboveZero, "Power of the site.");
    r.row<&L::max_gpus>("GPUs to be had.");
  });
}

const Record<BatchPhase>& phase_record() {
  return described([](Record<BatchPhase>& r) {
    using P = BatchPhase;
    r.about("A phase of the batch's schedule.");
    r.row<&P::until_tokens>("Tokens of the training at its end; every phase but the last says it.");
    r.row<&P::global_batch_size>("Sequences of a step.");
    r.required();
    r.row<&P::seq_length>("Tokens of a sequence.");
    r.required();
  });
}

// Every phase but the last ends, later than the one before it.
void check_schedule(const CapacityOptions& options, ObjectReader& reader) {
  const auto& phases = options.schedule;
  for (std::size_t i = 0; i + 1 < phases.size(); ++i) {
    const Json& phase = reader.member("schedule")[i];
    ObjectReader inside(phase, reader.file(),
                        fmt::format("{}/{}", reader.pointer_to("schedule"), i));
    inside.required_number("until_tokens");
    if (phases[i].until_tokens <= (i == 0 ? 0.0 : phases[i - 1].until_tokens)) {
      inside.fail("until_tokens", "must grow from phase to phase");
    }
  }
}

const Record<ReferenceRun>& reference_record() {
  return described([](Record<ReferenceRun>& r) {
    using R = ReferenceRun;
    r.about("A run that was made, to compare with.");
    r.row<&R::name>("Name of the run.");
    r.required();
    r.row<&R::source>("Where it was published.");
    r.required();
    r.row<&R::gpus>("GPUs of the run.");
    r.required();
    r.row<&R::gpu_hours>(kAboveZero, "GPU-hours of the run.");
    r.required();
    r.row<&R::layout>("Its layout, as --layout states one.");
    r.row<&R::step_seconds>(kAboveZero, "Step time with the batch of most tokens.");
    r.row<&R::goodput>(NumberRange{0.0, 1.0, true},
                       "Share of the time in which steps were made that count.");
    r.row<&R::model_flops_utilization>(NumberRange{0.0, 1.0, true}, "MFU of a step.");
    r.row<&R::mean_time_between_hours>(kAboveZero, "Mean time between failures.");
  });
}

template <typename M>
void option(Record<CapacitySection>& record, M CapacityOptions::*member, std::string_view key,
            const Kind<M>& kind, std::string_view about) {
  record.row_at(
      [member](auto& section) -> auto& { return section.options.*member; }, std::move(key),
      std::move(kind), std::move(about));
}

Kind<std::vector<int>> counts() {
  return {{.read =
               [](ObjectReader& reader, const std::string& key, std::vector<int>& values) {
                 values.clear();
                 for (const Json& count : reader.required_array(key)) {
                   const bool good =
                       count.is_number_integer() && count >= kCount.low && count <= kCount.high;
                   if (!good) {
                     reader.fail(key, "must be an array of whole numbers from 1 to 100000000");
                   }
                   values.push_back(count.get<int>());
                 }
               },
           .write = [](Json& json, const std::string& key,
                       const std::vector<int>& values) { json[key] = values; },
           .schema =
               [] {
                 return Json{{"type", "array"}, {"items", kind::integer(kCount).schema()}};
               }}};
}

Record<CapacitySection> make_capacity_record() {
  using S = CapacitySection;
  using O = CapacityOptions;
  Record<S> r("What meshwright capacity is asked (docs/tutorials/capacity-review.md).");
  r.row<&S::model>("A file, or a name of configs/models.");
  r.row<&S::clusters>("Files, or names of configs/clusters.");
  r.row<&S::gpus>(counts(), "GPU counts to compare.");
  r.row<&S::global_batch_sizes>(counts(), "Sequences of a step, to compare.");
  r.row<&S::prices>("A file, or a name of configs/prices.");
  option(r, &O::failures, "failures", kind::object(failures_record), "");
  option(r, &O::checkpoint, "checkpoint", kind::object(checkpoint_record), "");
  option(r, &O::power, "power", kind::object(power_record), "");
  option(r, &O::limits, "limits", kind::object(limits_record), "");
  option(r, &O::schedule, "schedule", kind::list(phase_record),
         "Phases of batch and sequence, in order.");
  r.check([](const S& section, ObjectReader& reader) { check_schedule(section.options, reader); });
  option(r, &O::evaluation_share, "evaluation_share", kind::fraction(true),
         "Time of evaluation over that of training.");
  option(r, &O::step_time_spread, "step_time_spread", ranged_fraction(),
         "Relative standard deviation of step times between nodes, beyond the step's own.");
  option(r, &O::start, "start", optional_date(), "First day of the training.");
  option(r, &O::lead_time_days, "lead_time_days", kind::optional_number(),
         "Days from the order of the GPUs to the first day.");
  option(r, &O::day_worth, "day_worth", kind::optional_number(),
         "Worth of a day that the training ends earlier, in the price list's currency.");
  option(r, &O::step_factor, "step_factor", kind::number(kAboveZero),
         "Expected step time over the predicted one.");
  option(r, &O::reference, "reference", kind::optional(kind::object(reference_record)), "");
  return r;
}

const Record<Price>& price_record() {
  return described([](Record<Price>& r) {
    r.about("What a GPU-hour of one cluster or device costs; one of the two is named.");
    r.row<&Price::cluster>("A name of configs/clusters.");
    r.row<&Price::device>("Name of a device.");
    r.also({{"oneOf", {{{"required", {"cluster"}}}, {{"required", {"device"}}}}}});
    r.check([](const Price& price, ObjectReader& reader) {
      if (price.cluster.empty() != price.device.empty()) return;
      reader.fail("device", "names either a cluster or a device");
    });
    r.row<&Price::per_gpu_hour>(ranged(), "Price, above 0.");
    r.required();
    check_positive(r, &Price::per_gpu_hour, "per_gpu_hour");
  });
}

}  // namespace

const Record<CapacitySection>& capacity_record() {
  static const Record<CapacitySection> record = make_capacity_record();
  return record;
}

const Record<PriceList>& prices_record() {
  return described([](Record<PriceList>& r) {
    using P = PriceList;
    r.about("What a GPU-hour costs, by cluster or by device.");
    r.file_of({"meshwright.prices/1"}, true);
    r.row<&P::name>("Name of the list.");
    r.required();
    r.row<&P::date>("Date of the prices.");
    r.required();
    r.row<&P::source>("Where they come from.");
    r.required();
    r.row<&P::currency>("Currency, such as USD.");
    r.required();
    r.row<&P::example>("An example, not an offer.");
    r.row<&P::prices>(price_record, "Prices.");
    r.required();
  });
}

CapacitySection capacity_section(const Json& job, const std::string& file) {
  if (!job.is_object() || !job.contains("capacity")) return {};
  return capacity_record().read(job.at("capacity"), file, "/capacity");
}

PriceList prices_from_json(const Json& json, const std::string& file) {
  return prices_record().read(json, file);
}

}  // namespace meshwright::planner
