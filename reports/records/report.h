// SPDX-License-Identifier: Apache-2.0
// The record behind the report page (schema "meshwright.report/1"). Every number of the page is in
// it; the page adds no others. Parts that need a layout that fits are empty where none does.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/accuracy/validation.h"
#include "planner/questions/roofline.h"
#include "planner/questions/size_map.h"
#include "planner/questions/traffic_matrix.h"
#include "planner/search/plan.h"
#include "reports/records/answers.h"
#include "reports/records/capacity.h"
#include "reports/records/origin.h"
#include "sim/base/launch_file.h"
#include "sim/schedule/schedule.h"

namespace meshwright::reports {

inline constexpr std::string_view kReportSchema = "meshwright.report/1";

// Contents of the first screen, on which the reviewer decides.
struct Decision {
  std::string subject{};  // model, tokens, cluster, price
  double train_tokens = 0.0;
  bool tokens_are_the_jobs = false;  // else a round number stands for them
  std::optional<double> price_per_gpu_hour{};
  std::string currency{};  // empty: not stated
  std::string range{};     // meaning of the low and high ends of time and cost
  std::string verdict{}, recommendation{};
};

// One statement on the certainty of the answer.
struct CertaintyItem {
  std::string id{}, label{}, text{};
};

// An input that the best layout uses.
struct RestsOn {
  std::string parameter{}, label{}, unit{};
  double value = 0.0;
  Provenance provenance{};
  double relative_spread = 0.0;
  std::string source{};
};

// The best layout's numbers.
struct Summary {
  Layout layout{};
  int gpus = 0;
  double tokens_per_step = 0.0;
  Seconds step_time, step_time_low, step_time_high;
  IntervalRegime interval_regime{};
  std::string interval_narrowed_by{};
  double tokens_per_second_per_gpu = 0.0;
  double model_flops_utilization = 0.0;
  Bytes peak_memory, memory_capacity;
  double memory_headroom = 0.0;
  MemoryFit memory_fit{};
  Provenance provenance{};
  std::vector<std::pair<std::string, double>> provenance_shares{};  // of the step
  // Where the job states its tokens.
  std::optional<double> train_tokens{};
  std::optional<Seconds> train_time{};
  std::optional<double> gpu_hours{}, cost{};
};

struct ClusterFacts {
  std::string name{}, source{}, device{};
  DeviceKind device_kind = DeviceKind::gpu;
  std::string device_source{};
  int gpus = 0, gpus_per_node = 0, num_nodes = 0;
};

struct TermDifference {
  TermKind kind = TermKind::forward_compute;
  Seconds more;  // that the next layout spends
};

struct ComparedWithNext {
  std::string sentence{};
  Seconds faster_by;
  std::vector<TermDifference> terms{};  // largest first
};

struct RankedLayout {
  int rank = 0;  // from 1
  Layout layout{};
  Seconds step_time, step_time_low, step_time_high;
  double relative_to_best = 1.0;
  double tokens_per_second_per_gpu = 0.0;
  double model_flops_utilization = 0.0;
  Bytes peak_memory;
  MemoryFit memory_fit{};
  Provenance provenance{};
  double provenance_share = 0.0;  // of the step, in terms of that provenance
  bool pareto = false;
  std::vector<Term> terms{};
  std::optional<ComparedWithNext> compared_with_next{};
};

// Bytes that a group sends over the links of one tier.
struct GroupTraffic {
  Group group{};
  Tier tier{};
  int group_size = 1;
  Bytes sent, payload;
};

// An entry of the busiest stage's ledger.
struct PlacedTransfer {
  std::string name{};
  Group group{};
  int group_size = 1;
  Tier tier{};  // that the group spans
  Collective collective{};
  Phase phase{};
  double times_per_step = 0.0;
  Bytes payload, sent_per_step;
  bool overlappable = false;
  std::string formula{};  // of the payload, in the field's letters
};

struct OrderAxis {
  std::string axis{}, order{};
  double order_elements = 0.0;
  Bytes exact;
};

struct OrdersPart {
  std::vector<OrderAxis> axes{};
  std::string sentence{};
};

struct LinkFacts {
  Tier tier{};
  std::string name{};
  BytesPerSecond bandwidth;
  Seconds latency;
  Provenance provenance{};
};

// Bytes that one rank of the busiest stage sends in a step.
struct VolumePart {
  int stage = 0;
  Bytes sent;
  std::vector<GroupTraffic> groups{};
  std::vector<PlacedTransfer> transfers{};
  OrdersPart published_orders{};
  std::vector<LinkFacts> links{};
  planner::TrafficMatrix matrix{};  // of all ranks
};

struct StageHolds : StageMemory {
  int stage = 0;
  std::optional<int> num_layers{};
};

struct MemoryPart {
  Bytes capacity;
  std::vector<StageHolds> stages{};
};

// The best of two sizes, or why there is none.
struct HeatCell {
  int tensor_parallel_size = 1, pipeline_parallel_size = 1;
  std::optional<Seconds> step_time{};
  // With a time.
  Bytes peak_memory;
  std::string short_name{};
  // Without.
  std::string rule{}, reason{};
};

struct HeatMap {
  std::vector<int> tensor_parallel_sizes{}, pipeline_parallel_sizes{};
  std::vector<HeatCell> cells{};
};

// The layout that missed the memory by least, of two sizes.
struct TooLarge {
  std::string short_name{};
  Seconds step_time;
  Bytes peak_memory;
  std::string reason{}, smallest_change{};
};

// Shares of the step for one stage.
struct StageShares {
  double compute = 0.0, communication = 0.0, idle = 0.0;
};

struct TimelineWork {
  int stage = 0;
  double begin = 0.0, end = 0.0;  // seconds
  int work = 0;                   // a place in `works`
  int micro_batch = -1, chunk = -1;
};

struct TimelinePart {
  PipelineSchedule schedule{};
  int stages = 0, micro_batches = 0;
  Seconds step;
  std::vector<double> left_out{0.0, 0.0};  // seconds, from and to
  std::vector<StageShares> stage_shares{};
  std::string sentence{};
  std::vector<std::string> works{};
  std::vector<TimelineWork> events{};
};

struct RejectionRow {
  Rule rule{};
  std::int64_t count = 0;
  std::string sentence{}, smallest_change{};
  std::string example{};  // short name
  double needed = 0.0, available = 0.0;
};

// A number of the device or of a link, with its source.
struct Fact {
  std::string what{}, value{};
  Provenance provenance{};
  std::int64_t measured_points = 0;
};

struct MeasuredTime {
  std::string what{};
  Seconds measured, fitted;
  double residual = 0.0, relative_spread = 0.0;
  bool noisy = false;
};

struct MeasuredSeries {
  std::string name{};
  double typical_residual = 0.0;
  std::vector<MeasuredTime> points{};
};

// Machine, time and extent of the measurements.
struct ProfileFacts {
  std::optional<std::string> created{}, tool_version{}, command{};
  std::optional<std::int64_t> measured_points{};
};

struct NoiseOfKind {
  std::string kind{};
  std::int64_t num_points = 0;
  double median_relative_spread = 0.0, worst_relative_spread = 0.0;
  int noisy = 0;
  std::vector<std::vector<double>> points{};  // median seconds, relative spread
};

struct NoisePart {
  std::string sentence{};
  std::vector<NoiseOfKind> kinds{};
};

// Times over the median rank's; 0: not measured.
struct RankTimes {
  int rank = 0, local_rank = 0;
  std::string host{};
  double gemm = 0.0, memory = 0.0, network = 0.0;
};

struct Straggler {
  std::string what{};
  int rank = 0;
  std::optional<int> other_rank{};  // of a link
  double relative_time = 1.0, score = 0.0;
  std::string sentence{};
};

struct DevicesPart {
  std::string sentence{};
  std::vector<RankTimes> ranks{};
  std::vector<Straggler> stragglers{};
};

struct CalibrationPart {
  std::string device{}, source{};
  std::vector<Fact> facts{};
  std::vector<std::string> extrapolations{};
  std::vector<MeasuredSeries> measured{};
  std::optional<ProfileFacts> profile{};
  std::optional<NoisePart> noise{};
  std::optional<DevicesPart> devices{};
  std::vector<std::string> flagged{};
};

struct ScalingPart {
  std::vector<planner::ScalePoint> points{};
  std::optional<int> best{};  // a place in the points
  std::string sentence{};
  int planned_gpus = 0;
};

struct GlossaryEntry {
  std::string word{}, meaning{};
};

struct PlacementPart {
  std::string sentence{};
  std::vector<std::string> rank_order{};
  int gpus_per_node = 0, num_nodes = 0;
  planner::RankMap map{};
  std::vector<planner::LinkLoad> links{};
  std::string wiring{};
};

struct Report {
  Origin origin{};
  Origin plan{};  // of the plan's file
  std::string title{};
  Decision decision{};
  std::string verdict{};
  std::vector<CertaintyItem> certainty{};
  std::vector<RestsOn> rests_on{};      // the network first
  std::vector<std::string> left_out{};  // effects that the model does not contain
  std::optional<Summary> summary{};
  Model model{};
  Job job{};
  ClusterFacts cluster{};
  std::optional<planner::Roofline> roofline{};  // of layout #1
  int top = 0;  // layouts that were asked for; those after them complete the Pareto set
  std::vector<RankedLayout> ranked{};
  Capacity capacity{};
  std::optional<Answers> answers{};
  std::optional<planner::Validation> validation{};
  std::optional<VolumePart> volume{};
  std::optional<PlacementPart> placement{};
  std::optional<MemoryPart> memory{};
  HeatMap heat_map{};
  std::vector<TooLarge> too_large{};
  std::optional<TimelinePart> timeline{};
  std::optional<ScalingPart> scaling{};
  std::vector<RejectionRow> rejections{};
  planner::SearchStatistics statistics{};
  std::vector<LaunchFile> launch{};
  CalibrationPart calibration{};
  std::vector<std::string> assumptions{};
  std::vector<GlossaryEntry> glossary{};
};

const Record<Report>& report_record();
// Throws InputError: the record of another kind or version, or a key that is missing, unknown or of
// another type, with its JSON pointer.
Report report_from_json(const Json& json, const std::string& file);

// Inputs of a report.
struct ReportContents {
  planner::Plan plan;
  int top = 10;        // how many of the ranking were asked for
  Origin origin;       // of the report
  Origin plan_origin;  // of the plan
  std::optional<planner::Validation> validation;
  Json profile;  // the measured profile, or null
  std::vector<LaunchFile> launch;
  std::optional<Answers> answers;  // the plan's
  std::vector<planner::SizeCell> sizes;
  planner::Scaling scaling;  // no points: no section
  Capacity capacity{};       // the plan's, or what its inputs ask
};

Report report_of(const ReportContents& contents);

}  // namespace meshwright::reports
