// SPDX-License-Identifier: Apache-2.0
// Sets of measured runs and lists of such sets; what they name is not to be found.
#include "planner/accuracy/accuracy_list.h"
#include "planner/accuracy/measured_set_json.h"
#include "sim/json/records.h"
#include "sim/record/parse.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace meshwright;
  fuzz::attempt([&] {
    const Json json = parse_json(fuzz::text_of(data, size), "input");
    planner::NamedRecords named;
    named.model = [](const std::string&) { return Model{}; };
    named.cluster = [](const std::string&) { return Cluster{}; };
    named.framework = [](const std::string&) { return Framework{}; };
    named.inline_model = [](const Json& model, const std::string& file,
                            const std::string& pointer) {
      return model_from_json(model, file, pointer);
    };
    fuzz::attempt([&] { planner::measured_set_from_json(json, "input", named); });
    fuzz::attempt([&] { planner::accuracy_rows_from_json(json, "input"); });
  });
  return 0;
}
