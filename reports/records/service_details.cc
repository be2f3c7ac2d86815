// SPDX-License-Identifier: Apache-2.0
#include "reports/records/service_details.h"

#include "reports/records/serving_parts.h"
#include "sim/json/serving_records.h"

namespace meshwright::reports {
namespace {

constexpr auto kTime = [] { return kind::base_amount<Seconds>(); };
constexpr auto kShare = [] { return kind::fraction(true); };

const Record<planner::LatencyRange>& latency_range_record() {
  return described([](Record<planner::LatencyRange>& r) {
    using R = planner::LatencyRange;
    r.about("A time and its 90 % interval.");
    r.row<&R::value>("The time.");
    r.row<&R::low>("Low end.");
    r.row<&R::high>("High end.");
    r.all_required();
  });
}

const Record<planner::ServingLoadPoint>& load_point_record() {
  return described([](Record<planner::ServingLoadPoint>& r) {
    using P = planner::ServingLoadPoint;
    r.about("The deployment under one load, simulated.");
    r.row<&P::request_rate>("requests_per_second", "Open loop: offered. Closed loop: served.");
    r.row<&P::users>("Closed loop: users; 0: open loop.");
    r.row<&P::asked>("The load of the question.");
    r.row<&P::ttft>(percentiles_record, "Time to first token.");
    r.row<&P::tpot>(percentiles_record, "Time per output token.");
    r.row<&P::e2e>(percentiles_record, "Whole request.");
    r.row<&P::ttft_at>("ttft_at_percentile_seconds", kTime(), "At the asked percentile.");
    r.row<&P::tpot_at>("tpot_at_percentile_seconds", kTime(), "At the asked percentile.");
    r.row<&P::output_tokens_per_second>("Throughput.");
    r.row<&P::busy_share>(kind::fraction(true),
                          "Of the replicas' time; of pools: of the decode pool's.");
    r.row<&P::meets>("meets_limits", "Whether the limits are met.");
  });
}

const Record<planner::ServingStepPart>& step_part_record() {
  return described([](Record<planner::ServingStepPart>& r) {
    using P = planner::ServingStepPart;
    r.about("A part of a step.");
    r.row<&P::term>(kStepTermNames, "Which.");
    r.row<&P::time>("How long it takes.");
    r.row<&P::relative_spread>("One standard deviation.");
    r.row<&P::provenance>(kProvenanceNames, "Where its rate comes from.");
    r.all_required();
  });
}

const Record<planner::ServingStepParts>& step_parts_record() {
  return described([](Record<planner::ServingStepParts>& r) {
    using P = planner::ServingStepParts;
    r.about("One kind of step, in parts.");
    r.row<&P::step>(planner::kServedStepNames,
                    "Of prompts alone, or of the sequences that decode.");
    r.row<&P::sequences>("Of one attention group.");
    r.row<&P::tokens>("Prefill: new tokens. Decode: context of each sequence.");
    r.row<&P::time>(latency_range_record, "From start to tokens.");
    r.row<&P::provenance>(kProvenanceNames, "The weakest part's.");
    r.row<&P::parts>(step_part_record, "Parts that take time.");
    r.all_required();
  });
}

const Record<planner::ServicePoolDetails>& pool_details_record() {
  return described([](Record<planner::ServicePoolDetails>& r) {
    using P = planner::ServicePoolDetails;
    r.about("Replicas of one kind under the load.");
    r.row<&P::pool>(planner::kServicePoolNames, "What they do.");
    r.row<&P::name>("Replicas and layout.");
    r.row<&P::replicas>("How many.");
    r.row<&P::gpus>("Of all.");
    r.row<&P::memory>(replica_memory_record, "Of the GPU with the highest use.");
    r.row<&P::admitted>("admitted_requests",
                        "Of one attention group that the cache and the engine admit.");
    r.row<&P::running>("running_sequences", "Of one attention group that decode under the load.");
    r.row<&P::prompt_share>(kind::fraction(true), "Of the pool's time, prompts.");
    r.row<&P::decode_share>(kind::fraction(true), "Of the pool's time, answers.");
    r.row<&P::idle_share>(kind::fraction(true), "Of the pool's time, nothing.");
    r.row<&P::steps>(step_parts_record, "Its steps.");
    r.all_required();
  });
}

const Record<planner::ServingEnergy>& energy_record() {
  return described([](Record<planner::ServingEnergy>& r) {
    using E = planner::ServingEnergy;
    r.about("Power and energy, split between prompts and answers by their time.");
    r.row<&E::kilowatts>(interval_record, "All GPUs with node and PUE, under the load.");
    r.row<&E::million_input>("kwh_million_input_tokens", interval_record,
                             "A million input tokens.");
    r.row<&E::million_output>("kwh_million_output_tokens", interval_record,
                              "A million output tokens, without the prompts' share.");
    r.row<&E::million_total>("kwh_million_tokens", interval_record, "A million tokens, blended.");
    r.all_required();
  });
}

const Record<planner::SmallerDeployment>& smaller_record() {
  return described([](Record<planner::SmallerDeployment>& r) {
    using S = planner::SmallerDeployment;
    r.about("The deployment with one replica fewer, under the same load.");
    r.row<&S::deployment>("What runs.");
    r.row<&S::gpus>("GPUs.");
    r.row<&S::largest_rate>("Requests a second above which its queue grows without end.");
    r.row<&S::utilization>("The load over that rate.");
    r.row<&S::ttft>("ttft_seconds", kTime(),
                    "As the limits are; absent: the queue grows without end.");
    r.row<&S::tpot>("tpot_seconds", kTime(), "As the limits are.");
    r.row<&S::e2e>("e2e_seconds", kTime(), "Mean of a whole request, in closed form.");
  });
}

}  // namespace

const Record<planner::ServiceDetails>& service_details_record() {
  return described([](Record<planner::ServiceDetails>& r) {
    using D = planner::ServiceDetails;
    r.about("The first choice in detail.");
    r.row<&D::asked_gpus>("The question fixes the GPUs.");
    r.row<&D::ttft>(latency_range_record,
                    "Time to first token as the limits are: at the percentile, or the mean.");
    r.row<&D::tpot>(latency_range_record, "Time per output token, likewise.");
    r.row<&D::largest_rate>("Requests a second above which its queue grows without end.");
    r.row<&D::most_utilization>(kind::fraction(true),
                                "Of that rate, up to which a service is planned.");
    r.row<&D::loads>(load_point_record, "The smallest first.");
    r.row<&D::ttft_knee>(
        "Load at which TTFT is twice that at the smallest load; absent: above all loads.");
    r.row<&D::tpot_knee>("The same of TPOT.");
    r.row<&D::pools>(pool_details_record, "Prefill first.");
    r.row<&D::energy>(energy_record, "Absent: the power of the GPUs is not known.");
    r.row<&D::smaller>(smaller_record, "Absent: each pool has one replica.");
  });
}

}  // namespace meshwright::reports
