// SPDX-License-Identifier: Apache-2.0
#include "reports/tables.h"

#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

Cell text(std::string_view value) { return std::string(value); }
Cell milliseconds_of(Seconds time) { return time / milliseconds(1); }
Cell gibibytes_of(Bytes amount) { return in_gibibytes(amount); }
Cell gigabytes_of(Bytes amount) { return amount / gigabytes(1); }

}  // namespace

Table ranked_table(const planner::Plan& plan) {
  Table table{"",
              {{"rank", "rank", ""},
               {"layout", "layout", ""},
               {"step_time_seconds", "step", "s"},
               {"step_time_low_seconds", "low", "s"},
               {"step_time_high_seconds", "high", "s"},
               {"tokens_per_second_per_gpu", "tokens/GPU", "1/s"},
               {"model_flops_utilization_percent", "MFU", "%", 3},
               {"peak_memory_gib", "peak memory", "GiB", 3},
               {"provenance", "weakest input", ""}},
              {}};
  double rank = 0;
  for (const Estimate& e : plan.ranked) {
    table.rows.push_back({++rank, short_name(e.layout), e.step_time.value(),
                          e.step_time_low.value(), e.step_time_high.value(),
                          e.tokens_per_second_per_gpu, e.model_flops_utilization * 100.0,
                          gibibytes_of(e.peak_memory()), text(name_of(e.provenance))});
  }
  return table;
}

Table rejections_table(const planner::Plan& plan) {
  Table table{"",
              {{"rule", "rule", ""},
               {"count", "layouts", ""},
               {"nearest_miss", "nearest miss", ""},
               {"smallest_change", "smallest change that admits it", ""}},
              {}};
  for (const planner::Rejection& r : plan.rejections) {
    table.rows.push_back({text(rule_text(r.rule).name), static_cast<double>(r.count), r.sentence,
                          r.smallest_change});
  }
  return table;
}

Table terms_table(const Estimate& estimate) {
  Table table{"",
              {{"term", "term", ""},
               {"time_ms", "time", "ms"},
               {"share_percent", "share", "%", 3},
               {"relative_spread_percent", "spread (1 sigma)", "%", 3},
               {"provenance", "number is", ""}},
              {}};
  for (const Term& term : estimate.terms) {
    if (term.cost.time.value() == 0.0) continue;
    table.rows.push_back({text(name_of(term.kind)), milliseconds_of(term.cost.time),
                          term.cost.time / estimate.step_time * 100.0,
                          term.cost.relative_spread * 100.0, text(name_of(term.cost.provenance))});
  }
  return table;
}

Table memory_table(const Estimate& estimate, const Device& device) {
  Table table{"",
              {{"stage", "stage", ""},
               {"weights_gib", "weights", "GiB", 3},
               {"gradients_gib", "gradients", "GiB", 3},
               {"optimizer_gib", "optimizer", "GiB", 3},
               {"activations_gib", "activations", "GiB", 3},
               {"recompute_workspace_gib", "recompute", "GiB", 3},
               {"operator_workspace_gib", "workspace", "GiB", 3},
               {"logits_gib", "logits", "GiB", 3},
               {"communication_buffers_gib", "buffers", "GiB", 3},
               {"reserve_gib", "reserve", "GiB", 3},
               {"total_gib", "total", "GiB", 3},
               {"free_gib", "free", "GiB", 3}},
              {}};
  double stage = 0;
  for (const StageMemory& m : estimate.memory) {
    table.rows.push_back({stage++, gibibytes_of(m.weights), gibibytes_of(m.gradients),
                          gibibytes_of(m.optimizer), gibibytes_of(m.activations),
                          gibibytes_of(m.recompute_workspace), gibibytes_of(m.operator_workspace),
                          gibibytes_of(m.logits), gibibytes_of(m.communication_buffers),
                          gibibytes_of(m.reserve), gibibytes_of(m.total()),
                          gibibytes_of(device.memory - m.total())});
  }
  return table;
}

Table volume_table(const StageVolume& volume, const Layout& layout, const Cluster& cluster) {
  Table table{"",
              {{"transfer", "transfer", ""},
               {"group", "group", ""},
               {"group_size", "ranks", ""},
               {"tier", "link", ""},
               {"collective", "collective", ""},
               {"phase", "phase", ""},
               {"times_per_step", "calls a step", ""},
               {"payload_bytes", "payload a call", "B"},
               {"sent_gb_per_step", "sent a step", "GB"},
               {"formula", "payload is", ""}},
              {}};
  for (const Transfer& t : volume.transfers) {
    table.rows.push_back({text(t.name), text(name_of(t.group)), static_cast<double>(t.group_size),
                          text(name_of(place(t.group, layout, cluster).tier())),
                          text(name_of(t.collective)), text(name_of(t.phase)), t.times_per_step,
                          t.payload.value(), gigabytes_of(t.sent_per_step()), text(t.formula)});
  }
  return table;
}

Table orders_table(const PublishedOrders& orders) {
  return {"",
          {{"axis", "axis", ""},
           {"order", "published order", ""},
           {"order_elements", "order, elements a batch", "1"},
           {"exact_gb", "exact, sent by a rank a step", "GB"}},
          {{text("data parallel"), text("O(h^2 l)"), orders.data_parallel,
            gigabytes_of(orders.data_exact)},
           {text("pipeline parallel"), text("O(b s h l / k)"), orders.pipeline_parallel,
            gigabytes_of(orders.pipeline_exact)},
           {text("tensor parallel"), text("O(b s h l)"), orders.tensor_parallel,
            gigabytes_of(orders.tensor_exact)}}};
}

Table validation_table(const planner::Validation& validation) {
  Table table{"",
              {{"layout", "layout", ""},
               {"run_layout", "really run", ""},
               {"ranks", "ranks", ""},
               {"predicted_ms", "predicted", "ms"},
               {"measured_ms", "measured", "ms"},
               {"error_percent", "error", "%", 3},
               {"inside_interval", "inside interval", ""},
               {"memory_error_percent", "memory error", "%", 3},
               {"same_bytes", "bytes as predicted", ""}},
              {}};
  for (const planner::LayoutComparison& c : validation.layouts) {
    table.rows.push_back({short_name(c.observation.layout), short_name(c.observation.run_layout),
                          static_cast<double>(c.observation.ranks),
                          milliseconds_of(c.predicted.step_time),
                          milliseconds_of(c.observation.step_time), c.error * 100.0,
                          text(c.inside_interval ? "yes" : "no"), c.memory_error * 100.0,
                          text(c.same_bytes ? "yes" : "no")});
  }
  return table;
}

}  // namespace meshwright::reports
