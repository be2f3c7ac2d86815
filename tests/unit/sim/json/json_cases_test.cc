// SPDX-License-Identifier: Apache-2.0
// Inputs as they are read and written again: cases/*.txt. The name of a case's file says what it
// is: layout is a line of words, model.json a model.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/json/records.h"
#include "sim/layout/short_name.h"
#include "tests/unit/cases.h"

namespace meshwright::test {
namespace {

Answer layout_of(const Asked& asked) {
  const std::vector<std::string> lines = split_lines(asked.text);
  const Layout layout = layout_from_text(lines.empty() ? "" : lines.front());
  EXPECT_EQ(layout_from_text(short_name(layout)), layout);
  return {{"layout", items_of(to_json(layout), to_json(Layout{})), "default"},
          {"named", {{"short:", short_name(layout)}, {"brief:", brief_name(layout)}}}};
}

template <typename T>
Answer record_of(const Asked& asked, T (*read)(const Json&, const std::string&, const std::string&),
                 const Json& plain = Json::object()) {
  return reread(
      asked, [&](const Json& json) { return to_json(read(json, asked.file, "")); }, plain);
}

Answer input_of(const Asked& asked) {
  if (asked.file == "layout") return layout_of(asked);
  if (asked.file == "layout.json")
    return reread(
        asked, [](const Json& json) { return to_json(layout_from_json(json, "layout.json")); },
        to_json(Layout{}));
  if (asked.file == "job.json")
    return reread(
        asked, [](const Json& json) { return to_json(job_from_json(json, "job.json")); },
        to_json(Job{}));
  if (asked.file == "device.json") return record_of(asked, device_from_json);
  if (asked.file == "cluster.json") return record_of(asked, cluster_from_json);
  if (asked.file == "framework.json") return record_of(asked, framework_from_json);
  return record_of(asked, model_from_json, to_json(Model{}));
}

TEST(JsonCases, HaveTheAnswersOfTheirFiles) {
  for (const std::string& file : case_files("sim/json/cases")) expect_cases(file, input_of);
}

TEST(ModelJson, NotANumberIsRefused) {
  Json model{{"num_layers", 2}, {"hidden_size", std::nan("")}};
  EXPECT_THROW(model_from_json(model, "f"), InputError);
  model["hidden_size"] = 64;
  model["moe"] = {{"num_moe_experts", 4}, {"moe_router_topk", 1}};
  EXPECT_NO_THROW(model_from_json(model, "f"));
  model["moe"]["moe_expert_capacity_factor"] = std::nan("");
  EXPECT_THROW(model_from_json(model, "f"), InputError);
}

}  // namespace
}  // namespace meshwright::test
