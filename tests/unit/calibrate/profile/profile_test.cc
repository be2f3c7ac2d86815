// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/profile.h"

#include <gtest/gtest.h>

#include <cmath>

#include "calibrate/profile/profile_json.h"
#include "calibrate/sweep.h"
#include "sim/base/error.h"
#include "sim/collective/collective.h"
#include "sim/kernel_time/compute.h"
#include "tests/unit/calibrate/timed_point.h"

namespace meshwright::calibrate {
namespace {

MeasuredPoint gemm(GemmShape shape, double time, bool transpose_b = false) {
  const GemmVariant variant{.shape = shape, .transpose_b = transpose_b};
  return point(timed::Gemm{{.variant = variant}}, bytes(1), time);
}

MeasuredPoint timed_all_reduce(double payload, double time) {
  return point(timed::CollectiveCall{{.group_size = 2}}, bytes(payload), time);
}

// A core of 1e11 FLOP/s, 1e10 B/s memory, 1 us a kernel; two ranks with 2 us and 1e9 B/s between.
std::vector<MeasuredPoint> known_points() {
  std::vector<MeasuredPoint> points{point(timed::KernelLaunch{}, bytes(12), 1e-6),
                                    point(timed::MemoryCopy{}, bytes(1e9), 0.1),
                                    point(timed::HostLink{}, bytes(1e9), 0.2)};
  points.push_back(point(timed::Kernel{"add", 2}, bytes(1e8), 2e-6 + 1e8 / 5e9));
  for (const std::int64_t n : {256, 512, 1024, 2048, 4096}) {
    points.push_back(gemm({1, n, n, n}, 1e-6 + 2.0 * std::pow(static_cast<double>(n), 3) / 1e11));
  }
  // All-reduce of S over 2: 2 steps of 2 us, and S * 2(n-1)/n = S at 1e9 B/s.
  for (int i = 10; i <= 26; ++i)
    points.push_back(timed_all_reduce(std::exp2(i), 4e-6 + std::exp2(i) / 1e9));
  return points;
}

Cluster two_cores() {
  Cluster cluster;
  cluster.name = "test";
  cluster.gpus_per_node = 2;
  cluster.node_fabric = NodeFabric::shared_memory;
  cluster.device.name = "core";
  cluster.device.kind = DeviceKind::cpu;
  cluster.device.memory = gibibytes(4);
  return cluster;
}

TEST(Profile, SimGivesTheMeasuredTimesBack) {
  const Cluster cluster = assemble(known_points(), two_cores()).cluster;
  const Cost product = gemm_cost({1, 512, 512, 512}, Precision::fp32, cluster.device);
  EXPECT_DOUBLE_EQ(product.time.value(), 1e-6 + 2.0 * 512 * 512 * 512 / 1e11);
  EXPECT_EQ(product.provenance, Provenance::measured);
  // Forward and backward are charged a launch each: 1 + 1 us and 1e8 bytes at 5e9 B/s.
  const Cost half = kernel_cost("add", bytes(5e7), cluster.device);
  EXPECT_NEAR(2.0 * half.time.value(), 2e-6 + 1e8 / 5e9, 1e-12);  // rate is exp of a mean log
  const Cost reduced = collective_cost(Collective::all_reduce, bytes(1048576),
                                       {.group_size = 2, .ranks_per_node = 2}, cluster);
  EXPECT_DOUBLE_EQ(reduced.time.value(), 4e-6 + 1048576 / 1e9);
  EXPECT_EQ(reduced.provenance, Provenance::measured);
}

// Other constants of the models (overlap of loads and products) keep the GEMM rate near, not at,
// 1e11; the link's model is the one the points were made with.
TEST(Profile, FitsRecoverWhatThePointsWereMadeOf) {
  const Assembled result = assemble(known_points(), two_cores());
  const GemmModel& model = result.cluster.device.gemm.at(0);
  EXPECT_NEAR(model.peak.value() * model.sustained_fraction / 1e11, 1.0, 0.05);
  EXPECT_NEAR(result.cluster.intra_node.latency.value(), 2e-6, 1e-9);
  EXPECT_NEAR(result.cluster.intra_node.bandwidth.value(), 1e9, 1e5);
  EXPECT_EQ(result.cluster.intra_node.provenance, Provenance::fitted);
}

TEST(Profile, ALinkThatWasNotMeasuredIsAbsentAndARefusalSaysHowToMeasureIt) {
  const Cluster cluster = assemble({known_points()[0], known_points()[1]}, two_cores()).cluster;
  EXPECT_DOUBLE_EQ(cluster.intra_node.bandwidth.value(), 0.0);
  EXPECT_NO_THROW(scaled_to(cluster, 1));
  try {
    scaled_to(cluster, 2);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("has no intra_node link"), std::string::npos);
    EXPECT_NE(error.hint().find("meshwright calibrate --ranks 2"), std::string::npos);
  }
  EXPECT_THROW(scaled_to(cluster, 4), InputError);
}

TEST(Profile, AbsentLinksStayAbsentInTheFile) {
  Profile profile;
  profile.machine.cores = 2;
  profile.not_measured = {"all_reduce inside a node"};
  std::vector<MeasuredPoint> points = known_points();
  std::erase_if(points, [](const MeasuredPoint& p) { return p.is<timed::CollectiveCall>(); });
  profile.cluster = assemble(points, two_cores()).cluster;
  profile.cluster.source = "measured 2026-01-01";
  const Profile again = profile_from_json(to_json(profile), "p.json");
  EXPECT_DOUBLE_EQ(again.cluster.intra_node.bandwidth.value(), 0.0);
  EXPECT_EQ(again.not_measured, profile.not_measured);
}

// New kinds of points and the fastest algorithm's time are read as they were written; a point
// without the latter, as older profiles have it, has none.
TEST(Profile, KeepsTheHostsLaunchOverlapsOfCopiesAndTheFastestAlgorithm) {
  Profile profile;
  profile.machine.cores = 2;
  profile.points = known_points();
  MeasuredPoint chosen = gemm({1, 64, 64, 64}, 2e-6);
  std::get<timed::Gemm>(chosen.subject).fastest = seconds(1.5e-6);
  timed::CopyOverlap copies{.direction = HostDirection::to_host};
  copies.product = {Precision::bf16, {.shape = {1, 64, 64, 64}}};
  copies.product_alone = copies.copy_alone = seconds(1e-3);
  copies.product_beside = seconds(1.1e-3);
  copies.copy_beside = seconds(1.2e-3);
  profile.points.push_back(chosen);
  profile.points.push_back(point(timed::HostLaunch{}, bytes(12), 2.5e-6));
  profile.points.push_back(point(copies, bytes(1e6), 1.25e-3));
  profile.dropped = {"gemm fp8 (16 x 16 x 16): cuBLASLt has no fp8 GEMM"};
  profile.cluster = assemble(profile.points, two_cores()).cluster;
  EXPECT_EQ(profile.cluster.device.host_launch, seconds(2.5e-6));
  const Json json = to_json(profile);
  const Profile again = profile_from_json(json, "p.json");
  ASSERT_EQ(again.points.size(), profile.points.size());
  for (std::size_t i = known_points().size(); i < again.points.size(); ++i) {
    EXPECT_EQ(again.points[i], profile.points[i]) << again.points[i].label();
  }
  EXPECT_EQ(again.dropped, profile.dropped);
  EXPECT_DOUBLE_EQ(copies.slowdown(seconds(1.25e-3)), 0.25);  // (1.25 - 1) / 1
  for (const Json& p : json["measurements"]) {
    EXPECT_EQ(p.contains("fastest_algorithm_seconds"), p["median_seconds"] == 2e-6) << p;
  }
}

// The price of a shape is that of the library's first algorithm.
TEST(Profile, TheFastestAlgorithmChangesNoPrice) {
  std::vector<MeasuredPoint> points = known_points();
  const Cluster before = assemble(points, two_cores()).cluster;
  for (MeasuredPoint& p : points) {
    if (auto* gemm = std::get_if<timed::Gemm>(&p.subject)) gemm->fastest = p.time() * 0.5;
  }
  EXPECT_EQ(assemble(points, two_cores()).cluster, before);
}

// What a cluster states of a framework's launch is more than the bare call takes, and stays.
TEST(Profile, AHigherHostLaunchOfTheClusterStays) {
  Cluster cluster = two_cores();
  cluster.device.host_launch = microseconds(5);
  const auto points = std::vector{point(timed::HostLaunch{}, bytes(12), 2.5e-6)};
  EXPECT_EQ(assemble(points, cluster).cluster.device.host_launch, microseconds(5));
}

TEST(Profile, KeepsTheRatesOfTheTrialsEngine) {
  std::vector<MeasuredPoint> points = known_points();
  for (const std::int64_t sequences : {1, 8}) {
    for (const std::int64_t vocab : {512, 2048}) {
      const double time = 2e-5 + static_cast<double>(sequences * vocab) * 1e-9;
      points.push_back(point(timed::EngineStep{{sequences, vocab}}, bytes(4), time));
    }
  }
  GemmVariant reused{.shape = {1, 4, 96, 64}, .fresh = {.a = true}};
  reused.reused_after = bytes(655'360);
  points.push_back(point(timed::Gemm{{Precision::fp32, reused}}, bytes(1000), 1e-5));
  points.push_back(point(timed::PagedAttention{{3, 1, 70, 4, 1, 8, 16, 4, 8}}, bytes(4), 1e-5));
  points.push_back(point(timed::CacheCopy{{160, 4, 2, 32, 32}}, bytes(4), 1e-5));
  points.push_back(
      point(timed::ServedStep{{false, "two", 2, 1, 2, 8, 72, seconds(1e-3)}}, bytes(0), 1.2e-3));
  Profile profile;
  profile.machine.cores = 2;
  profile.points = points;
  Assembled assembled = assemble(points, two_cores());
  profile.cluster = assembled.cluster;
  profile.inference = assembled.inference;
  ASSERT_TRUE(profile.inference.host_step);
  const Profile again = profile_from_json(to_json(profile), "p.json");
  ASSERT_TRUE(again.inference.host_step);
  EXPECT_NEAR(again.inference.host_step->step.value(), 2e-5, 1e-7);
  // 1.2 ms over 1 ms.
  ASSERT_EQ(again.inference.step_remainders.size(), 1U);
  EXPECT_EQ(again.inference.step_remainders[0].pipeline_parallel_size, 2);
  EXPECT_EQ(again.inference.step_remainders[0].rows, 8.0);
  EXPECT_NEAR(again.inference.step_remainders[0].share, 0.2, 1e-9);
  ASSERT_EQ(again.points.size(), profile.points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(again.points[i].subject, profile.points[i].subject) << i;
  }
}

// Imported numbers may be of any size; a time below the least normal double is written, too.
TEST(Profile, ATinyTimeIsWrittenLikeAnyOther) {
  MeasuredPoint point = gemm({1, 8, 8, 8}, 1e-310);
  point.measurement.summary.min = point.measurement.summary.median;
  EXPECT_NEAR(to_json(point)["median_seconds"].get<double>(), 1e-310, 1e-314);
}

// 1 s plain and 1.2 s transposed: 1.1 s, and half of their difference, 0.1 / 1.1, as spread.
TEST(Profile, TimesOfOneShapeAreAveragedAndTheirDifferenceIsSpread) {
  const Device device =
      assemble({gemm({1, 8, 8, 8}, 1.0), gemm({1, 8, 8, 8}, 1.2, true)}, two_cores())
          .cluster.device;
  ASSERT_EQ(device.gemm.at(0).points.size(), 1U);
  EXPECT_DOUBLE_EQ(device.gemm[0].points[0].time.value(), 1.1);
  EXPECT_NEAR(device.gemm[0].points[0].relative_spread, 0.1 / 1.1, 1e-12);
}

MeasuredPoint step_pass(ComputePass pass, std::int64_t tokens, double operators, double time) {
  return point(timed::StepPass{.pass = pass,
                               .model = "two",
                               .layers = 2,
                               .tokens = tokens,
                               .operators = seconds(operators)},
               bytes(0), time);
}

// 1.2 s where the operators sum to 1 s; of the optimizer 0.9 and 1.1 s, whatever the micro-batch: 0
// on average, and a spread of 0.1 * sqrt(2) beside the least of 0.01.
TEST(Profile, AWholePassLeavesARemainder) {
  const Device device = assemble({step_pass(ComputePass::forward, 256, 1.0, 1.2),
                                  step_pass(ComputePass::optimizer, 256, 1.0, 0.9),
                                  step_pass(ComputePass::optimizer, 512, 1.0, 1.1),
                                  step_pass(ComputePass::backward, 256, 0.0, 1.0)},
                                 two_cores())
                            .cluster.device;
  ASSERT_EQ(device.step_remainders.size(), 2U);
  EXPECT_NEAR(device.step_remainders[0].share, 0.2, 1e-12);
  EXPECT_DOUBLE_EQ(device.step_remainders[0].relative_spread, 0.01);
  EXPECT_EQ(device.step_remainders[1].tokens, 1);
  EXPECT_NEAR(device.step_remainders[1].share, 0.0, 1e-12);
  EXPECT_NEAR(device.step_remainders[1].relative_spread, std::hypot(0.01, 0.1 * std::sqrt(2.0)),
              1e-12);
}

TEST(Profile, AStepPassReloads) {
  const MeasuredPoint pass = step_pass(ComputePass::backward, 512, 0.25, 0.5);
  EXPECT_EQ(point_from_json(to_json(pass), "p.json", ""), pass);
}

MeasuredPoint across(double payload, double time, int groups) {
  MeasuredPoint p = timed_all_reduce(payload, time);
  GroupCall& call = *call_of(p.subject);
  call.tier = Tier::inter_node;
  call.ranks_per_node = 1;
  call.groups_per_node = groups;
  return p;
}

// Two nodes of two ranks: a pair across takes S / (1e9 B/s), two pairs at once twice as long. So a
// node has one NIC of 1e9 B/s, half of it for each rank.
TEST(Profile, AFitAcrossNodesSeesThatRanksShareANic) {
  std::vector<MeasuredPoint> points;
  for (int i = 14; i <= 24; ++i) {
    const double payload = std::exp2(i), alone = 2 * 10e-6 + payload / 1e9;
    points.push_back(across(payload, alone, 1));
    points.push_back(across(payload, 2 * 10e-6 + 2 * payload / 1e9, 2));
  }
  Cluster nodes = two_cores();
  nodes.num_nodes = 2;
  const Cluster fitted = assemble(points, nodes).cluster;
  EXPECT_EQ(fitted.nics_per_node, 1);
  EXPECT_NEAR(fitted.inter_node.bandwidth.value(), 0.5e9, 1e5);
  EXPECT_NEAR(fitted.inter_node.latency.value(), 10e-6, 1e-8);
  EXPECT_EQ(fitted.inter_node.provenance, Provenance::fitted);
  EXPECT_EQ(fitted.inter_node.curves.size(), 2U);
}

Profile known_profile() {
  Profile profile;
  profile.created = "2026-01-31T12:00:00Z";
  profile.tool_version = "0.1.0";
  profile.command = "meshwright calibrate";
  profile.machine = {.host = "h", .cpu = "c", .cores = 2, .memory = gibibytes(8), .kernel = "k"};
  profile.machine.details = {{"gemm_library", "x"}};
  Assembled assembled = assemble(known_points(), two_cores());
  profile.cluster = std::move(assembled.cluster);
  profile.fits = std::move(assembled.fits);
  profile.points = known_points();
  profile.points.back().measurement.noisy = true;
  profile.points.back().measurement.mean = seconds(0.07);
  profile.points.back().measurement.rank_mean = seconds(0.06);
  call_of(profile.points.back().subject)->ranks_per_node = 2;
  call_of(profile.points.back().subject)->groups_per_node = 1;
  std::get<timed::Kernel>(profile.points[3].subject).sizes = KernelSizes{.hidden = 256};
  profile.notes = {"one point is noisy"};
  profile.ranks = {{.rank = 0, .host = "h", .gemm = 1.0}, {.rank = 1, .host = "h", .gemm = 1.5}};
  profile.stragglers = {{.what = "gemm", .rank = 1, .relative_time = 1.5, .score = 9.0}};
  return profile;
}

TEST(Profile, IsReadBackAsItWasWritten) {
  const auto written = to_json(known_profile());
  const Profile read = profile_from_json(Json::parse(written.dump()), "p.json");
  EXPECT_EQ(to_json(read).dump(), written.dump());
  EXPECT_TRUE(read.points.back().measurement.noisy);
  EXPECT_EQ(read.points.back().measurement.mean, seconds(0.07));
  EXPECT_EQ(read.points.back().measurement.rank_mean, seconds(0.06));
  EXPECT_EQ(call_of(read.points.back().subject)->collective, Collective::all_reduce);
}

// A profile from before ranks, stragglers, means and the groups' slots were recorded.
TEST(Profile, OlderFilesAreRead) {
  Json json = Json::parse(to_json(known_profile()).dump());
  json.erase("ranks");
  json.erase("stragglers");
  for (auto& point : json["measurements"]) {
    for (const char* key :
         {"sizes", "ranks_per_node", "groups_per_node", "mean_seconds", "rank_mean_seconds"})
      point.erase(key);
  }
  const Profile read = profile_from_json(json, "p.json");
  EXPECT_EQ(read.points.size(), known_profile().points.size());
  EXPECT_EQ(call_of(read.points.back().subject)->ranks_per_node, 0);
  EXPECT_EQ(read.points.back().measurement.mean, seconds(0));
  EXPECT_TRUE(read.ranks.empty());
}

// As many points as a sweep has at most, each also in its curve, and 10,000 ranks.
TEST(Profile, StaysBelowAMegabyte) {
  Profile profile = known_profile();
  while (profile.points.size() < kMostPoints) {
    const double i = static_cast<double>(profile.points.size()) / 3.0;
    profile.points.push_back(across(i, i * 1.2345e-6, 2));
    profile.points.back().measurement.mean = seconds(i * 1.3456e-6);
    profile.points.back().measurement.rank_mean = seconds(i * 1.2986e-6);
  }
  profile.cluster = assemble(profile.points, two_cores()).cluster;
  for (int rank = 2; rank < 10000; ++rank) profile.ranks.push_back({.rank = rank, .host = "node"});
  EXPECT_LT(to_json(profile).dump().size(), 1000000U);
}

TEST(Profile, AnotherSchemaIsRefusedWithItsName) {
  Json json = Json::parse(to_json(known_profile()).dump());
  json["schema"] = "meshwright.profile/9";
  EXPECT_THROW(profile_from_json(json, "p.json"), InputError);
}

}  // namespace
}  // namespace meshwright::calibrate
