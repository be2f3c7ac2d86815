// SPDX-License-Identifier: Apache-2.0
// Any text as each of the records; what is read can be written and read again.
#include "sim/json/records.h"
#include "sim/record/parse.h"
#include "tests/fuzz/fuzz.h"

namespace {

using meshwright::Json;
using meshwright::to_json;

template <typename FromJson>
void round_trip(const Json& json, const FromJson& from_json) {
  meshwright::fuzz::attempt([&] {
    const auto written = to_json(from_json(json));
    const auto again = to_json(from_json(Json(written)));
    meshwright::fuzz::must_hold(written == again, "what was written reads back as it was");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace meshwright;
  fuzz::attempt([&] {
    const Json json = parse_json(fuzz::text_of(data, size), "input");
    round_trip(json, [](const auto& j) { return model_from_json(j, "input"); });
    round_trip(json, [](const auto& j) { return job_from_json(j, "input"); });
    round_trip(json, [](const auto& j) { return layout_from_json(j, "input"); });
    round_trip(json, [](const auto& j) { return device_from_json(j, "input"); });
    round_trip(json, [](const auto& j) { return cluster_from_json(j, "input"); });
    round_trip(json, [](const auto& j) { return framework_from_json(j, "input"); });
    round_trip(json, [](const auto& j) { return observation_from_json(j, "input"); });
  });
  return 0;
}
