// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/serving_estimate_tables.h"

#include <string>

#include "reports/text/text.h"

namespace meshwright::reports {
namespace {

void add_step_transfers(Table& table, const char* step, const StepEstimate& estimate) {
  for (const ServingTransfer& one : estimate.transfers) {
    const Transfer& t = one.transfer;
    const bool drafts = one.term == StepTerm::drafts;
    table.rows.push_back({std::string(drafts ? "draft" : step), std::string(t.name),
                          std::string(name_of(t.group)), static_cast<double>(t.group_size),
                          std::string(name_of(t.collective)), std::string(one.algorithm),
                          t.times_per_step, t.payload / kibibytes(1),
                          t.sent_per_step() / bytes(1e6), std::string(t.formula)});
  }
}

}  // namespace

Table serving_memory_table(const ReplicaMemory& memory) {
  Table table{"memory of the rank that needs most",
              {{"part", "part", ""}, {"gib", "memory", "GiB"}, {"percent", "share", "%", 3}},
              {}};
  const auto add = [&](const char* name, Bytes amount) {
    if (amount.value() <= 0.0) return;
    table.rows.push_back({std::string(name), in_gibibytes(amount), amount / memory.device * 100.0});
  };
  add("weights: attention", memory.weights.attention);
  add("weights: dense, norms, router", memory.weights.dense);
  add("weights: experts", memory.weights.experts);
  add("weights: embedding", memory.weights.embedding);
  add("weights: head", memory.weights.head);
  add("weights: drafts", memory.weights.drafts);
  add("activations", memory.activations);
  add("CUDA and NCCL", memory.outside);
  add("CUDA graphs", memory.graphs);
  add("key-value cache", memory.kv_cache);
  add("unused", memory.unused);
  add("device", memory.device);
  return table;
}

Table serving_terms_table(const ServingEstimate& estimate) {
  Table table{"one step",
              {{"term", "term", ""},
               {"prefill_ms", "prefill", "ms"},
               {"decode_ms", "decode", "ms"},
               {"decode_percent", "of decode", "%", 3},
               {"spread_percent", "+-", "%", 3},
               {.key = "provenance", .heading = "source", .face = Face::source}},
              {}};
  const StepTime& prefill = estimate.prefill.time;
  const StepTime& decode = estimate.decode.time;
  for (const auto& [term, name] : kStepTermNames) {
    const auto i = static_cast<std::size_t>(term);
    if (prefill.terms[i].value() <= 0.0 && decode.terms[i].value() <= 0.0) continue;
    const bool decodes = decode.terms[i].value() > 0.0;
    table.rows.push_back({spoken(name), time_in_ms(prefill.terms[i]), time_in_ms(decode.terms[i]),
                          decodes ? Cell(decode.terms[i] / decode.total * 100.0) : Cell(),
                          estimate.decode.term_spread[i] * 100.0,
                          std::string(name_of(estimate.decode.term_provenance[i]))});
  }
  table.rows.push_back({std::string("step"), time_in_ms(prefill.total), time_in_ms(decode.total),
                        100.0, estimate.decode.relative_spread * 100.0,
                        std::string(name_of(estimate.decode.provenance))});
  return table;
}

Table serving_volume_table(const ServingEstimate& estimate) {
  Table table{"what one rank sends in a step",
              {{"step", "step", ""},
               {"transfer", "transfer", ""},
               {"group", "group", ""},
               {"ranks", "ranks", ""},
               {"collective", "collective", "", 4, true},
               {"algorithm", "algorithm", ""},
               {"calls", "calls", ""},
               {"payload_kib", "payload", "KiB"},
               {"sent_mb", "sent", "MB"},
               {"formula", "payload is", "", 4, true}},
              {}};
  add_step_transfers(table, "prefill", estimate.prefill);
  add_step_transfers(table, "decode", estimate.decode);
  return table;
}

}  // namespace meshwright::reports
