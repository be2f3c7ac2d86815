// SPDX-License-Identifier: Apache-2.0
// A rank's trace of a few events, typed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/imported/imported.h"
#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright::calibrate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string trace_of(const std::string& events) {
  std::string devices;
  for (int i = 0; i < 8; ++i) {
    devices += fmt::format(R"({}{{"id": {}, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}})",
                           i > 0 ? "," : "", i);
  }
  return R"({"schemaVersion": 1, "deviceProperties": [)" + devices +
         R"(], "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 16}, "traceEvents": [)" +
         events + "]}";
}

std::string operator_of(int id, const std::string& name, const std::string& dims) {
  return fmt::format(
      R"({{"ph": "X", "cat": "cpu_op", "name": "{}", "ts": 1, "dur": 9, "args": {{"External id": {},
          "Input Dims": {}, "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]}}}},)",
      name, id, dims);
}
std::string kernel_of(int id, const std::string& name, double us) {
  return fmt::format(
      R"({{"ph": "X", "cat": "kernel", "name": "{}", "ts": 5, "dur": {}, "args": {{"External id": {},
          "device": 0}}}},)",
      name, us, id);
}
std::string nccl_of(const std::string& name, double in, double out, const std::string& ranks,
                    int size, double us) {
  return fmt::format(
      R"({{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Any", "ts": 5, "dur": {}, "args": {{
          "External id": 99, "Collective name": "{}", "In msg nelems": {}, "Out msg nelems": {},
          "Group size": {}, "dtype": "BFloat16", "Process Group Ranks": "{}"}}}},)",
      us, name, in, out, size, ranks);
}
constexpr char kLast[] =
    R"({"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}})";

// Three runs of one shape: the middle one; a split product's second kernel belongs to it.
TEST(Kineto, ProductsAreKernelsOfOperatorsWithSizes) {
  const Imported result = imported(
      trace_of(operator_of(1, "aten::mm", "[[8192, 4096], [4096, 1024]]") +
               kernel_of(1, "nvjet_hsh_256x128", 100.0) +
               operator_of(2, "aten::mm", "[[8192, 4096], [4096, 1024]]") +
               kernel_of(2, "nvjet_hsh_256x128", 90.0) + kernel_of(2, "splitKreduce_kernel", 20.0) +
               operator_of(3, "aten::mm", "[[8192, 4096], [4096, 1024]]") +
               kernel_of(3, "nvjet_hsh_256x128", 105.0) +
               operator_of(4, "aten::addmm", "[[512], [64, 256], [256, 512]]") +
               kernel_of(4, "sm90_xmma_gemm_bf16bf16", 7.0) +
               operator_of(5, "aten::add", "[[64, 256], [256, 512]]") +
               kernel_of(5, "gemm_like", 3.0) + kLast),
      "trace.json");
  EXPECT_EQ(result.tool, "PyTorch profiler");
  EXPECT_THAT(result.devices, ElementsAre("NVIDIA H100 80GB HBM3"));
  ASSERT_EQ(result.points.size(), 2U);
  const auto& first = result.points[0].as<timed::Gemm>()->product;
  EXPECT_EQ(first.variant.shape, (GemmShape{1, 64, 512, 256}));
  EXPECT_EQ(first.precision, Precision::bf16);
  EXPECT_EQ(result.points[1].as<timed::Gemm>()->product.variant.shape,
            (GemmShape{1, 8192, 1024, 4096}));
  EXPECT_NEAR(result.points[1].time().value(), 105e-6, 1e-12);
}

// 1000 numbers of 2 bytes; eight ranks of one host, and every eighth of two hosts of eight.
TEST(Kineto, CollectivesSitWhereTheirRanksAre) {
  const Imported result =
      imported(trace_of(nccl_of("allreduce", 1000, 1000, "[0, 1, 2, 3, 4, 5, 6, 7]", 8, 40.0) +
                        nccl_of("allreduce", 1000, 1000, "[0, 1, 2, 3, 4, 5, 6, 7]", 8, 30.0) +
                        nccl_of("_allgather_base", 500, 1000, "[0, 8]", 2, 25.0) +
                        nccl_of("_reduce_scatter_base", 16000, 1000, "[0, 1, ..., 15]", 16, 50.0) +
                        nccl_of("send", 1000, 1000, "[0, 8]", 2, 25.0) + kLast),
               "trace.json");
  ASSERT_EQ(result.points.size(), 3U);
  const GroupCall& reduce = result.points[0].as<timed::CollectiveCall>()->call;
  EXPECT_EQ(reduce.tier, Tier::intra_node);
  EXPECT_EQ(reduce.ranks_per_node, 8);
  EXPECT_EQ(result.points[0].amount, bytes(2000));
  EXPECT_NEAR(result.points[0].time().value(), 30e-6, 1e-12);  // the one that waited least
  const GroupCall& gather = result.points[1].as<timed::CollectiveCall>()->call;
  EXPECT_EQ(gather.tier, Tier::inter_node);
  EXPECT_EQ(gather.ranks_per_node, 1);
  EXPECT_EQ(gather.groups_per_node, 8);
  EXPECT_EQ(result.points[1].amount, bytes(2000));
  const GroupCall& scatter = result.points[2].as<timed::CollectiveCall>()->call;
  EXPECT_EQ(scatter.ranks_per_node, 8);
  EXPECT_EQ(result.points[2].amount, bytes(32000));
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("waits for the last rank"),
                                        HasSubstr("collectives left out: send")));
}

TEST(Kineto, WhatSaysNoSizeIsRefusedWithTheReason) {
  const std::string bare =
      trace_of(R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "args": {"External id": 1}},)" +
               kernel_of(1, "nvjet", 5.0) + kLast);
  EXPECT_THAT(error_and_hint_of([&] { imported(bare, "trace.json"); }),
              AllOf(HasSubstr("trace.json"), HasSubstr("1 products without sizes left out"),
                    HasSubstr("record_shapes=True")));
  EXPECT_THAT(error_of([&] { imported(bare.substr(0, bare.size() - 9), "trace.json"); }),
              HasSubstr("is no JSON"));
  EXPECT_THROW(imported(R"({"other": "\"traceEvents\""})", "x.json"), InputError);
}

}  // namespace
}  // namespace meshwright::calibrate
