// SPDX-License-Identifier: Apache-2.0
// {"model", "cluster", "job", "layout"} of any sizes: a rule is broken, or the step is a positive
// number. Products of sizes that overflow are refused by the readers or by a rule.
#include <cmath>

#include "sim/json/records.h"
#include "sim/record/parse.h"
#include "sim/step/evaluate.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace meshwright;
  fuzz::attempt([&] {
    const Json json = parse_json(fuzz::text_of(data, size), "input");
    if (!json.is_object()) return;
    const auto part = [&](const char* name) { return json.value(name, Json::object()); };
    const Model model = model_from_json(part("model"), "input", "/model");
    const Cluster cluster = cluster_from_json(part("cluster"), "input", "/cluster");
    const Job job = job_from_json(part("job"), "input", "/job");
    const Layout layout = layout_from_json(part("layout"), "input", "/layout");
    // Larger ones only take longer.
    if (model.num_layers > 1000 || layout.pipeline_parallel_size > 64) return;
    if (check_layout(model, job, layout, devices_of(cluster))) return;
    CostTable table({model, cluster, job});
    const Evaluation found = evaluate(table, layout, MemoryLimit::reported);
    const double step = found.step_time.value();
    fuzz::must_hold(step > 0.0 && std::isfinite(step),
                    "a legal layout's step is a positive number");
  });
  return 0;
}
