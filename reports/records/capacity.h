// SPDX-License-Identifier: Apache-2.0
// What meshwright capacity answers, as its file, a plan's file and the report have it. Texts and
// ids are made once, from the planner's answer; tables and pages read them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/capacity/capacity_answer.h"
#include "reports/records/origin.h"
#include "sim/json/records.h"
#include "sim/record/record.h"

namespace meshwright::reports {

inline constexpr std::string_view kCapacitySchema = "meshwright.capacity/1";

inline constexpr std::string_view kRowIdAbout =
    "Of a row: cluster/gpus/global_batch, or .../schedule.";

struct StepRange {
  Seconds low, mid, high;  // nominal 90 % interval
};

struct DateQuantiles {
  std::string p10{}, p50{}, p90{};
};

struct CostFacts : planner::Quantiles {
  std::string currency{};
  planner::CostParts parts{};
};

// Facts of every run: of a row, of a lever's end or of a what-if. They are the columns of the
// decision table.
struct RunFacts {
  int gpus = 0;
  int global_batch = 0;
  bool schedule = false;
  bool fits = false;
  std::vector<std::string> limits{};
  // Where it fits.
  std::string layout{};  // brief name
  StepRange step{};
  double mfu = 0.0;
  double memory_share = 0.0;
  MemoryFit memory_fit{};
  double goodput = 0.0;
  planner::Quantiles effective_tokens_per_second{};
  planner::Quantiles days{};
  std::optional<DateQuantiles> done{};
  planner::Quantiles gpu_hours{};
  std::optional<CostFacts> cost{};
  std::optional<double> energy_mwh{};
};

struct PhaseFacts {
  double tokens = 0.0;
  double steps = 0.0;
  int global_batch = 0;
  int seq_length = 0;
  std::string layout{};  // brief name
  StepRange step{};
};

struct Interruptions {
  planner::Quantiles expected{};
  double mean_time_between_h = 0.0;
  int spare_nodes = 0;
};

struct CapacityRow : RunFacts {
  std::string id{};
  std::string cluster{};       // as it was asked for
  std::string cluster_name{};  // as its file says
  std::string label{};         // the cluster for people, in no file; empty: as it was asked for
  std::string device{};
  int seq_length = 0;
  bool recommended = false;
  // Where it fits.
  Layout layout_record{};
  double tokens_per_second = 0.0;
  double memory_gib = 0.0;
  Provenance provenance{};
  std::vector<std::pair<std::string, double>> terms{};  // seconds by TermKind
  std::string cost_explanation{};
  std::optional<planner::Quantiles> energy_mwh_range{};
  std::optional<double> power_mw{}, power_mw_high{}, power_mw_waiting{};
  double load = 0.0;
  std::optional<planner::Quantiles> co2_t{};
  double scaling_efficiency = 0.0;
  std::optional<double> goodput_meta{};
  planner::CheckpointPlan checkpoint{};
  Interruptions interruptions{};
  // Inputs of the closed forms.
  double added_share = 0.0;
  std::optional<planner::Ranged> price{}, kilowatts{};
  planner::TimeParts time{};  // without `failures` and `deviation`, which no file has
  std::vector<PhaseFacts> phases{};
};

// One end of a lever: its value there, and the options that reproduce these numbers.
struct LeverEnd : RunFacts {
  double value = 0.0;
  std::string options{};
};

struct Lever {
  std::string name{}, label{}, unit{};
  bool choice = false;
  std::string basis{};
  double relative_spread = 0.0;
  double value = 0.0;
  double swing_days = 0.0, swing_cost = 0.0;
  std::optional<LeverEnd> low{}, high{};
};

struct WhatIfAxes {
  std::vector<double> batch_factor{};
  std::vector<int> gpus{};
  std::vector<double> network_factor{}, failure_rate{};
};

struct WhatIfCell : RunFacts {
  std::string options{};
};

struct WhatIfGrid {
  WhatIfAxes axes{};
  std::vector<WhatIfCell> cells{};  // the first axis outermost
};

struct ScalingStep {
  int from_gpus = 0, to_gpus = 0;
  double gain = 0.0;
  std::string term{};
  double share_of_growth = 0.0;
};

struct ScalingSeries {
  std::string cluster{};
  int global_batch = 0;
  bool schedule = false;
  std::vector<ScalingStep> steps{};
  std::optional<int> bends_at_gpus{};
  std::string sentence{};
};

// A run that somebody made, beside a row. `gpu_hours` and the parts add up to `stated_gpu_hours`.
struct ReferenceFacts {
  std::string name{}, source{};
  std::string row{};  // id
  int gpus = 0;
  double stated_gpu_hours = 0.0;
  std::optional<double> stated_step{};  // seconds
  std::optional<double> stated_mfu{}, stated_goodput{}, stated_mean_time_between_h{};
  double gpu_hours = 0.0;
  std::optional<double> schedule_gpu_hours{};
  std::vector<planner::ReferencePart> parts{};
};

// A row among the others, in days and cost.
struct FrontierFacts {
  std::string row{};  // id
  double days = 0.0, cost = 0.0;
  std::optional<std::string> dominated_by{};  // id
  std::string reason{};
  std::optional<std::string> slower{};  // id
  std::optional<double> cost_per_day_saved{};
};

// A day of the run. `day` counts from the start.
struct CalendarDay {
  std::string name{}, label{};
  double day = 0.0;
  std::optional<std::string> date{};
};

// A part of the elapsed time of the row in front.
struct ElapsedPart {
  std::string name{};          // "productive_steps" or a lost time's
  double days = 0.0;           // expected, at the predicted inputs
  planner::Quantiles range{};  // days, over what the inputs may be
};

// What all rows' closed forms share (planner/capacity/training_run.h).
struct RunInputFacts {
  planner::Ranged failure_rate{}, detection{}, restart{}, pause{}, storage{}, pue{};
  bool asynchronous = true;
  std::optional<double> persist{}, load{}, interval{};  // seconds, measured or stated
  int replicas = 1;
  double catch_up = 0.0, repair_days = 0.0, spares_target = 0.0;
  std::optional<int> spare_nodes{};
  double waiting_over_busy = 0.0, step_factor = 1.0;
  std::optional<double> day_worth{}, lead_time_days{};
};

struct LimitFacts {
  std::optional<double> deadline_days{};
  std::optional<std::string> deadline{};
  std::optional<double> budget{}, max_megawatts{};
  std::optional<int> max_gpus{};
};

struct PriceFacts {
  std::string name{}, date{}, currency{};
  bool example = false;
  std::string source{};
};

struct Capacity {
  double train_tokens = 0.0;
  bool tokens_stated = false;
  DeviceKind device_kind = DeviceKind::gpu;  // cpu: all clusters' devices are cores
  std::optional<std::string> start{};
  std::string command{};
  std::string verdict{};
  // The decision in one line, and its reasons.
  std::string headline{}, why_not_fewer{}, why_not_more{}, weakest_point{};
  std::vector<std::string> tags{};  // what the numbers are not
  std::string tried{};              // counts and batches that the question does not name
  std::string grid_options{};       // behind the command: makes all rows again
  // Ids of rows.
  std::optional<std::string> planned{}, recommended{}, closest{};
  std::string reason{};
  std::optional<std::string> smallest{}, cheapest{}, fastest{};
  LimitFacts limits{};
  std::optional<PriceFacts> prices{};
  std::vector<CapacityRow> rows{};
  std::vector<ScalingSeries> scaling{};
  std::optional<ReferenceFacts> reference{};
  std::vector<Lever> levers{};
  std::optional<WhatIfGrid> what_if{};
  std::vector<FrontierFacts> frontier{};  // slowest first
  std::vector<planner::Risk> risks{};
  std::vector<CalendarDay> calendar{};
  std::vector<ElapsedPart> elapsed{};  // of the row in front, in the order of the waterfall
  std::optional<planner::GoodputCurves> goodput_curves{};  // around the row in front
  RunInputFacts run_inputs{};
  std::vector<planner::Assumption> assumptions{};
  std::vector<std::string> included{}, not_included{};

  // The recommended row, else the one that misses its limits by least, else the plan's, else the
  // cheapest. Null: there is none.
  [[nodiscard]] const CapacityRow* front() const;
  // The row with this id, or null.
  [[nodiscard]] const CapacityRow* row(const std::optional<std::string>& id) const;
  // Currency of the first row that has a cost; empty: no row has one.
  [[nodiscard]] std::string currency() const;
};

struct CapacityFile {
  Origin origin{};
  Model model{};
  Job job{};
  std::vector<std::string> what_ifs{};
  std::vector<std::string> notes{};  // of clusters
  Capacity capacity{};
};

const Record<planner::Quantiles>& quantiles_record();
const Record<DateQuantiles>& date_quantiles_record();
const Record<StepRange>& step_range_record();
const Record<planner::Ranged>& ranged_facts_record();
const Record<LimitFacts>& capacity_limits_record();
const Record<PriceFacts>& capacity_prices_record();
const Record<RunFacts>& run_facts_record();
const Record<CapacityRow>& capacity_row_record();
const Record<ElapsedPart>& elapsed_part_record();
const Record<planner::GoodputCurves>& goodput_curves_record();
const Record<Capacity>& capacity_record();
const Record<CapacityFile>& capacity_file_record();

LimitFacts limit_facts_of(const planner::CapacityLimits& limits);
// Nothing: there is no list.
std::optional<PriceFacts> price_facts_of(const planner::PriceList& prices);

// `command` makes the answer again.
Capacity capacity_of(const planner::CapacityAnswer& answer, const std::string& command);
CapacityFile capacity_file_of(const planner::CapacityAnswer& answer, const Origin& origin,
                              const std::string& command);

}  // namespace meshwright::reports
