// SPDX-License-Identifier: Apache-2.0
// Points that are made of other tools' measurements: cases/*.txt. The texts are made up, in the
// formats that the tools document.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "calibrate/imported/imported.h"
#include "calibrate/profile/profile_json.h"
#include "sim/base/error.h"
#include "tests/unit/cases.h"

namespace meshwright::calibrate {
namespace {

// Six digits: the last bits of a double are the compiler's.
std::string text_of(const MeasuredPoint& point) {
  std::string text = fmt::format("{}: {:.9g} B in {:.6g} us", point.label(), point.amount.value(),
                                 point.time().value() * 1e6);
  if (const GroupCall* const call = call_of(point.subject))
    text += fmt::format(" {}", name_of(call->tier));
  return text;
}

test::Answer points_of(const test::Asked& asked) {
  const Imported result = imported(asked.text, asked.file);
  test::Part tool{"tool", {{result.tool, ""}}}, points{"points", {}}, notes{"notes", {}};
  for (const std::string& device : result.devices) tool.items.emplace_back(device, "");
  for (const MeasuredPoint& point : result.points) {
    EXPECT_EQ(to_json(point).dump().find("secret"), std::string::npos);
    points.items.emplace_back(text_of(point), "");
  }
  for (const std::string& note : result.notes) notes.items.emplace_back(note, "");
  return {tool, points, notes};
}

TEST(ImportCases, HaveTheAnswersOfTheirFiles) {
  for (const std::string& file : test::case_files("calibrate/imported/cases"))
    test::expect_cases(file, points_of);
}

TEST(ImportedNcclTests, ALineWithoutADeviceNamesNone) {
  EXPECT_TRUE(
      from_nccl_tests("# Rank 0 Group 0 Pid 1 on hostA device 0\n", "a.log").devices.empty());
  EXPECT_EQ(from_nccl_tests("#  Rank  0 Group  0 Pid 1 on hostA device  0 [0x31] NVIDIA A40\n"
                            "#  Rank  1 Group  0 Pid 1 on hostB device  0 [0x31] NVIDIA L4\n",
                            "a.log")
                .devices,
            (std::vector<std::string>{"NVIDIA A40", "NVIDIA L4"}));
}

TEST(MamfFinder, OtherTextsAreNone) {
  EXPECT_TRUE(from_mamf_finder("resolution 1920x1080x60 @ 5 TFLOPS\n").points.empty());
  EXPECT_TRUE(from_mamf_finder("mamf-finder.py: 5 TFLOPS @ 0x5x5 (MxNxK)\n").points.empty());
}

TEST(DeepEp, ItsKernelsAreNoCollectivesOfNccls) {
  MeasuredPoint dispatch, library;
  dispatch.subject = timed::CollectiveCall{
      {.collective = Collective::all_to_all, .group_size = 8, .algorithm = "DeepEP dispatch bf16"}};
  library.subject = timed::CollectiveCall{
      {.collective = Collective::all_to_all, .group_size = 8, .algorithm = "ring simple"}};
  EXPECT_FALSE(same_subject(dispatch, library));
  EXPECT_NE(dispatch.label().find("DeepEP dispatch bf16"), std::string::npos);
}

}  // namespace
}  // namespace meshwright::calibrate
