// SPDX-License-Identifier: Apache-2.0
// The named rules that a layout must obey. Each is one row of a *_rules.h and has a test.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/job.h"
#include "sim/base/units.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"
#include "sim/rules/devices.h"

namespace meshwright {

// A row of all_rules(). Named is only the one that others ask for; it is decided by what a layout
// costs, not here.
enum class Rule : std::uint8_t { memory_capacity };

struct RuleText {
  Rule rule{};
  std::string_view name;         // stable, snake_case, as in JSON
  std::string_view requirement;  // one sentence: what must hold
  std::string_view reason;       // why, with its source
  std::string_view remedy;       // advice: the field to change
};
std::span<const RuleText> all_rules();
const RuleText& rule_text(Rule rule);
// Nothing if there is no rule of this name.
std::optional<Rule> rule_named(std::string_view name);

struct Violation {
  Rule rule{};
  double needed = 0;     // divisor, smallest legal value, or bytes for memory_capacity
  double available = 0;  // amount that the layout, model or device has
};

// The first violated rule in the order of all_rules(), or nothing.
// Never allocates and never throws. memory_capacity is not checked here (estimate does). All sizes
// of the layout are at least 1 (the reader and the search see to it).
std::optional<Violation> check_layout(const Model& model, const Job& job, const Layout& layout,
                                      const Devices& devices);

// check_layout in three parts, first to last: the first that finds something is what it finds. A
// search judges many layouts at once by the part that they share.
// Sizes, schedule, micro-batch, context, experts: reads nothing of ZeRO, overlap or offload.
std::optional<Violation> check_sizes(const Model& model, const Job& job, const Layout& layout,
                                     const Devices& devices);
// ZeRO and what of its communication overlaps: reads the sizes, zero_* and overlap_*_gather/reduce.
std::optional<Violation> check_data_switches(const Layout& layout, const Devices& devices);
// Tensor-parallel overlap, what of a stage is recomputed and offloaded.
std::optional<Violation> check_stage_switches(const Model& model, const Job& job,
                                              const Layout& layout, const Devices& devices);

// A sentence for each thing that the layout uses and the devices' fabric has no proof of
// (Cluster::unproven).
std::vector<std::string> unproven_uses(const Model& model, const Job& job, const Layout& layout,
                                       const Devices& devices);

// A sentence with the fields and numbers of this violation, e.g. "num_attention_heads 64 is not
// divisible by tensor_parallel_size 3". `devices` as in the check.
std::string describe(const Violation& violation, const Model& model, const Job& job,
                     const Layout& layout, const Devices& devices);

}  // namespace meshwright
