// SPDX-License-Identifier: Apache-2.0
// Exports with the columns that are read, made here; the types are those of nsys' own schema.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>

#include "calibrate/imported/imported.h"
#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright::calibrate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTables[] = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, "end" INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER,
                          textId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "end" INTEGER, globalTid INTEGER, correlationId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, correlationId INTEGER, globalPid INTEGER,
                                         demangledName INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'NVIDIA H100 80GB HBM3'), (0, 1, 'NVIDIA H100 80GB HBM3');
INSERT INTO StringIds VALUES (1, 'nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT'),
  (2, 'cublasLt::splitKreduce_kernel'), (3, 'void at::native::vectorized_elementwise_kernel'),
  (4, 'aten::mm, seq = 7, op_id = 9, sizes = [[8192, 4096], [4096, 1024]]'), (5, 'my_gemm_of_nobody');
)";

// Process 1, thread 5; a thread's number holds its process above 24 bits.
constexpr std::int64_t kProcess = 1 << 24, kThread = kProcess + 5;

// What SQLite writes of a database that these statements make.
std::string database_of(const std::string& statements) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  const std::string all = kTables + statements;
  EXPECT_EQ(sqlite3_exec(db, all.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(db, "main", &size, 0);
  const std::string text(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(db);
  return text;
}

std::string range(int start, int end, const std::string& text, std::int64_t thread = kThread) {
  return fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, 59, '{}', {}, NULL);\n", start, end,
                     text, thread);
}
// A launch at `at` on the host, and its kernel of `ns` nanoseconds.
std::string kernel(int id, int at, int name, int ns, std::int64_t thread = kThread) {
  return fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({0}, {0} + 3, {1}, {2});\n"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (900000, 900000 + {3}, {2}, {4}, {5});\n",
      at, thread, id, ns, thread & ~std::int64_t{0xFFFFFF}, name);
}

const GemmShape& shape_of(const MeasuredPoint& p) {
  return p.as<timed::Gemm>()->product.variant.shape;
}

// The second kernel of a split product belongs to it; what stands between two products does not. A
// text may be a number of StringIds.
TEST(Nsys, ProductsAreKernelsThatARangeWithSizesLaunched) {
  const Imported result = imported(
      database_of(
          range(100, 200, "aten::linear, op_id = 1") +
          range(110, 190,
                "aten::addmm, op_id = 2, sizes = [[512], [64, 256], [256, 512], [], []]") +
          kernel(1, 150, 1, 7000) + kernel(2, 195, 3, 5000) +
          fmt::format("INSERT INTO NVTX_EVENTS VALUES (300, 400, 59, NULL, {}, 4);", kThread) +
          kernel(3, 320, 1, 100'000) + kernel(4, 330, 2, 20'000)),
      "report.sqlite");
  EXPECT_EQ(result.tool, "Nsight Systems");
  EXPECT_THAT(result.devices, ElementsAre("NVIDIA H100 80GB HBM3"));
  ASSERT_EQ(result.points.size(), 2U);
  EXPECT_EQ(shape_of(result.points[0]), (GemmShape{1, 64, 512, 256}));
  EXPECT_EQ(result.points[0].as<timed::Gemm>()->product.precision, Precision::bf16);
  EXPECT_NEAR(result.points[0].time().value(), 7e-6, 1e-12);
  EXPECT_EQ(shape_of(result.points[1]), (GemmShape{1, 8192, 1024, 4096}));
  EXPECT_NEAR(result.points[1].time().value(), 120e-6, 1e-12);
}

// The same correlation id in two processes, the same time on two threads.
TEST(Nsys, ProcessesAndThreadsAreKeptApart) {
  const std::int64_t other = (std::int64_t{2} << 24) + 5;
  const Imported result =
      imported(database_of(range(100, 200, "aten::mm, sizes = [[64, 32], [32, 16]]") +
                           range(100, 200, "aten::mm, sizes = [[128, 32], [32, 16]]", other) +
                           kernel(1, 150, 1, 5000) + kernel(1, 150, 1, 9000, other)),
               "report.sqlite");
  ASSERT_EQ(result.points.size(), 2U);
  EXPECT_NEAR(result.points[0].time().value(), 5e-6, 1e-12);
  EXPECT_NEAR(result.points[1].time().value(), 9e-6, 1e-12);
}

TEST(Nsys, WhatIsLeftOutIsNoted) {
  const Imported result = imported(
      database_of(range(100, 200, "aten::mm, sizes = [[64, 32], [32, 16]]") +
                  range(300, 400, "aten::mm, seq = 3") +
                  range(500, 600, "aten::mm, sizes = [[64, 32], [32, 8]]") +
                  kernel(1, 150, 1, 5000) + kernel(2, 250, 1, 5000) + kernel(3, 550, 5, 5000)),
      "report.sqlite");
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_THAT(result.notes,
              ElementsAre(HasSubstr("1 products without sizes"),
                          HasSubstr("1 GEMM kernels left out"), HasSubstr("my_gemm_of_nobody")));
}

TEST(Nsys, ExportsThatSayNoSizeAreRefusedWithTheWayToGetThem) {
  EXPECT_THAT(
      error_and_hint_of([&] { imported(database_of(kernel(1, 150, 1, 5000)), "report.sqlite"); }),
      AllOf(HasSubstr("report.sqlite"), HasSubstr("without a GEMM that states its size"),
            HasSubstr("autograd-shapes-nvtx")));
  EXPECT_THAT(error_of([&] {
                imported(database_of("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;"), "report.sqlite");
              }),
              HasSubstr("without CUPTI_ACTIVITY_KIND_KERNEL"));
}

// A view in a table's place could compute for ever.
TEST(Nsys, DamagedFilesAndViewsAreRefused) {
  const std::string whole = database_of(kernel(1, 150, 1, 5000));
  EXPECT_THROW(imported(whole.substr(0, 100), "report.sqlite"), InputError);
  std::string torn = whole;
  torn.replace(4096, torn.size() - 4096, torn.size() - 4096, '\xAA');
  EXPECT_THROW(imported(torn, "report.sqlite"), InputError);
  EXPECT_THAT(error_of([&] {
                imported(
                    database_of("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;"
                                "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start;"),
                    "report.sqlite");
              }),
              HasSubstr("without CUPTI_ACTIVITY_KIND_KERNEL"));
}

TEST(Nsys, KernelsNamesStateTheirFormat) {
  const auto precision_of = [](const std::string& name) {
    const Imported result =
        imported(database_of(fmt::format("INSERT INTO StringIds VALUES (9, '{}');", name) +
                             range(100, 200, "aten::mm, sizes = [[64, 32], [32, 16]]") +
                             kernel(1, 150, 9, 5000)),
                 "report.sqlite");
    return result.points.at(0).as<timed::Gemm>()->product.precision;
  };
  EXPECT_EQ(precision_of("nvjet_hsh_128x256_64x4_TNT"), Precision::fp16);
  EXPECT_EQ(precision_of("nvjet_sm100_tst_128x256_TNT"), Precision::bf16);
  EXPECT_EQ(precision_of("nvjet_qqtst_128x160_128x6"), Precision::fp8);
  EXPECT_EQ(precision_of("ampere_bf16_s16816gemm_bf16_128x64_ldg8_tn"), Precision::bf16);
  EXPECT_EQ(precision_of("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n"), Precision::fp8);
  EXPECT_EQ(precision_of("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n"), Precision::tf32);
  EXPECT_EQ(precision_of("cutlass_80_tensorop_s1688gemm_128x256_nn"), Precision::tf32);
  EXPECT_EQ(precision_of("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n"), Precision::fp16);
  EXPECT_EQ(precision_of("ampere_sgemm_128x64_nn"), Precision::fp32);
}

}  // namespace
}  // namespace meshwright::calibrate
