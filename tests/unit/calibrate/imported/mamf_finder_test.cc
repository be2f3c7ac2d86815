// SPDX-License-Identifier: Apache-2.0
// The five forms in which the script's versions print a shape.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/imported/imported.h"

namespace meshwright::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Product& mamf_product(const MeasuredPoint& point) { return *product_of(point.subject); }

// 2 x 256 x 4096 x 4096 = 8.589934592e9 operations; at 500 TFLOPS 17.179869184 us.
constexpr double kTime = 17.179869184e-6;

TEST(MamfFinder, TheMedianOfAShapeIsItsTime) {
  const Imported result = imported(
      "** Command line:\npython ./mamf-finder.py --m_range 0 20480 256 --n 4096 --k 4096 --dtype "
      "float16\n_CudaDeviceProperties(name='NVIDIA H100 80GB HBM3', major=9, minor=0)\n"
      "     1 |  498.0(mean)  500.0(median)  512.0(max) @ 256x4096x4096        | best:  "
      "498.0(mean)  "
      "500.0(median)  512.0(max) TFLOPS\r     2 |  598.0(mean)  600.0(median)  612.0(max) @ "
      "512x4096x4096 | best:  598.0(mean)  600.0(median)  612.0(max) TFLOPS\n"
      "Tried 2 shapes => the best outcomes were:\nmean:   598.0 TFLOPS @ 512x4096x4096 (MxNxK)\n"
      "median: 600.0 TFLOPS @ 512x4096x4096 (MxNxK)\nmax:    612.0 TFLOPS @ 512x4096x4096 "
      "(MxNxK)\n",
      "mamf.txt");
  EXPECT_EQ(result.tool, "mamf-finder");
  EXPECT_THAT(result.devices, ElementsAre("NVIDIA H100 80GB HBM3"));
  ASSERT_EQ(result.points.size(), 2U);
  EXPECT_EQ(mamf_product(result.points[0]).variant.shape, (GemmShape{1, 256, 4096, 4096}));
  EXPECT_EQ(mamf_product(result.points[0]).precision, Precision::fp16);
  EXPECT_NEAR(result.points[0].time().value(), kTime, 1e-15);
  EXPECT_TRUE(result.notes.empty());
}

TEST(MamfFinder, OlderRowsHaveOneRate) {
  const Imported result = imported(
      "  1 |  500.0 TFLOPS @ 256x4096x4096   | best:  500.0 TFLOPS @ 256x4096x4096\n"
      "The best outcome was 500.0TFLOPS @ 256x4096x4096 (MxNxK) (tried 1 shapes)\n",
      "mamf.txt");
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_NEAR(result.points[0].time().value(), kTime, 1e-15);
  EXPECT_THAT(result.notes.front(), HasSubstr("does not say --dtype"));
}

TEST(MamfFinder, ASummaryAloneIsOnePoint) {
  const Imported result = imported(
      "** Dtype: torch.float8_e4m3fn\nTried  79 shapes => the best outcomes were:\nmean:   498.0 "
      "TFLOPS "
      "@ 256x4096x4096 (MxNxK)\nmedian: 500.0 TFLOPS @ 256x4096x4096 (MxNxK)\nmax:    512.0 TFLOPS "
      "@ "
      "512x4096x4096 (MxNxK)\n",
      "mamf.txt");
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_EQ(mamf_product(result.points[0]).precision, Precision::fp8);
  EXPECT_NEAR(result.points[0].time().value(), kTime, 1e-15);
}

// Its sustained rate is that of a busy device; bursts at the boost clock are not a step's.
TEST(MamfFinder, TablesAndSustainedRates) {
  const Imported result = imported(
      "./mamf-finder.py --dtype bfloat16 --m 256 --n 4096 --k 4096\nGrid search: sweeping 1 "
      "shapes\n"
      "     #  MxNxK                mean median    max   best     W   MHz\n"
      "    18  256x4096x4096       498.0  500.0  512.0  498.0   506  1980  <- best mean\n"
      "MSMF (sustainable) confirm: 1 shapes ...\n  MxNxK              TFLOPS     W   MHz\n"
      "  256x4096x4096      450.0   681  1612 drop   0.7% spread  4.2%  locked in  <- MSMF\n"
      "MAMF (max achievable,  boost burst): 520 TFLOPS @ 256x4096x4096 (MxNxK)  172W 1980MHz\n"
      "MSMF (max sustainable, saturated):   450 TFLOPS @ 256x4096x4096 (MxNxK)  681W 1612MHz\n",
      "mamf.txt");
  ASSERT_EQ(result.points.size(), 2U);
  EXPECT_TRUE(result.points[0].is<timed::Gemm>());
  EXPECT_NEAR(result.points[0].time().value(), kTime, 1e-15);
  EXPECT_TRUE(result.points[1].is<timed::SustainedGemm>());
  EXPECT_NEAR(result.points[1].time().value(), kTime / 0.9, 1e-15);
}

TEST(MamfFinder, OtherTextsAreNone) {
  EXPECT_TRUE(from_mamf_finder("resolution 1920x1080x60 @ 5 TFLOPS\n").points.empty());
  EXPECT_TRUE(from_mamf_finder("mamf-finder.py: 5 TFLOPS @ 0x5x5 (MxNxK)\n").points.empty());
}

}  // namespace
}  // namespace meshwright::calibrate
