// SPDX-License-Identifier: Apache-2.0
// The ledger beside what frameworks really call: every collective of the steps in facts/, its
// ranks, its bytes and how often it is called. A call that the ledger leaves out is listed in the
// facts with its reason, and fails once it is counted. "not_run" names what the recorded program
// does not do, "added" calls that stand in for some that are left out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "sim/hardware/cluster.h"
#include "sim/json/input_records.h"
#include "sim/json/layout_line.h"
#include "sim/json/records.h"
#include "sim/record/parse.h"
#include "sim/volume/volume.h"
#include "tests/paths.h"

namespace meshwright {
namespace {

using Calls = std::map<std::string, double>;

// Times of each call; bytes below zero: not stated.
std::string call_text(std::string_view phase, std::string_view collective, int ranks,
                      double payload) {
  if (payload < 0) return fmt::format("{} {} over {}", phase, collective, ranks);
  return fmt::format("{} {} over {} of {} bytes", phase, collective, ranks, payload);
}

Json facts_of(const std::string& file) {
  std::ifstream in(std::filesystem::path(MESHWRIGHT_SOURCE_DIR) / "tests/unit/sim/volume/facts" /
                   file);
  std::stringstream text;
  text << in.rdbuf();
  return parse_json(text.str(), file);
}

bool states_bytes(const Json& one, const std::string& without_bytes) {
  for (const Json& call : one.at("calls")) {
    if (!call[3].is_null()) continue;
    if (call_text(call[0].get<std::string>(), call[1].get<std::string>(), call[2], -1) ==
        without_bytes) {
      return false;
    }
  }
  return true;
}

// Recompute is inside the backward pass, and a pipeline's messages are between both.
std::string_view phase_of(const Transfer& t) {
  if (t.group == Group::pipeline && t.phase != Phase::step) return "pass";
  return name_of(t.phase == Phase::recompute ? Phase::backward : t.phase);
}

Calls ledger_calls(const Json& facts, const Json& one) {
  const Model model = model_from_json(facts.at("models").at(one.at("model")), "facts");
  Job job = job_from_json(one.at("job"), "facts");
  const Layout layout = layout_line_from_text(one.at("layout")).layout;
  job.replicates_units = uses_dtensor(layout);  // torchtitan's replicas
  const Volume all = volume(model, job, layout);
  Calls calls;
  for (const Transfer& t : all.stages.at(one.at("stage").get<std::size_t>()).transfers) {
    const Json& not_run = one.at("not_run");
    if (std::find(not_run.begin(), not_run.end(), t.name) != not_run.end()) continue;
    const std::string plain = call_text(phase_of(t), name_of(t.collective), t.group_size, -1);
    const bool routed = t.group == Group::expert || t.group == Group::expert_tensor;
    const bool whole = !routed || states_bytes(one, plain);
    calls[whole ? call_text(phase_of(t), name_of(t.collective), t.group_size, t.payload.value())
                : plain] += t.times_per_step;
  }
  return calls;
}

void expect_calls(const std::string& file) {
  const Json facts = facts_of(file);
  int equal = 0, left_out = 0;
  for (const Json& one : facts.at("cases")) {
    SCOPED_TRACE(one.at("case").get<std::string>());
    Calls ours = ledger_calls(facts, one);
    for (const Json& call : one.at("calls")) {
      const std::string text = call_text(call[0].get<std::string>(), call[1].get<std::string>(),
                                         call[2], call[3].is_null() ? -1.0 : call[3].get<double>());
      const double times = call[4];
      const double listed = ours[text];
      if (call.size() > 5) {
        ++left_out;
        EXPECT_EQ(listed, 0.0) << text << " is left out: " << call[5];
      } else {
        ++equal;
        EXPECT_DOUBLE_EQ(listed, times) << text;
      }
      ours.erase(text);
    }
    for (const Json& more : one.at("added")) {
      EXPECT_EQ(ours.erase(more.get<std::string>()), 1U) << more;
    }
    for (const auto& [text, times] : ours)
      ADD_FAILURE() << "no such call: " << text << ", " << times;
  }
  EXPECT_LE(left_out, 0.05 * (equal + left_out));
}

TEST(FrameworkLedger, CallsOfTorch) { expect_calls("torch.json"); }
TEST(FrameworkLedger, CallsOfMegatron) { expect_calls("megatron.json"); }

}  // namespace
}  // namespace meshwright
