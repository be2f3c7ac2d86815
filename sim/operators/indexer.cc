// SPDX-License-Identifier: Apache-2.0
// The indexer of one layer (sim/block/indexer.h). Nothing of it waits for backward, and each tensor
// rank runs all of it.
#include "sim/block/indexer.h"

#include "sim/operators/builders.h"

namespace meshwright {

// Scores of the entries before a query; PyTorch's own path scores all and masks. They are written
// in fp32, and read twice by the choice of the best.
void append_indexer(Operators& ops, const Model& model, LayerKind kind, const Numerics& numerics,
                    const TokenShape& tokens, const Layout& layout, const RankShape& shape) {
  const std::optional<Indexer> indexer = indexer_of(model, kind);
  if (!indexer) return;
  LayerParts parts;
  append_indexer(parts, model, kind);
  for (const LayerPart& part : parts) {
    Operator op = linear_operator(part, shape.rows, shape);
    op.frozen = true;
    op.backward_flops = {};
    op.backward_bytes = {};
    ops.push_back(op);
  }
  const double rate = seen_entries(model, kind).rate;
  const double entries = static_cast<double>(all_keys(tokens, layout)) / rate;
  const auto queries = static_cast<double>(tokens.queries);
  const bool fused = numerics.attention_kernel == AttentionKernel::flash;
  const double pairs =
      fused ? seen_pairs({0, rate, 0}, numerics, tokens, layout.context_parallel_size)
            : queries * entries;
  Operator scores;
  scores.name = "indexer.scores";
  scores.kind = OperatorKind::attention;
  scores.module = Module::core_attention;
  scores.batch = tokens.sequences * indexer->heads;
  scores.m = tokens.queries;
  scores.n = static_cast<std::int64_t>(entries);
  scores.k = indexer->width;
  const auto sequences = static_cast<double>(tokens.sequences);
  scores.forward_flops = flops(sequences * pairs * indexer->pair_flops());
  scores.forward_bytes = bytes(sequences * queries * entries * 4.0 * 3.0);
  ops.push_back(scores);
}

}  // namespace meshwright
