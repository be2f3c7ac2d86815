// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/paged_attention.h"

#include "calibrate/trial/layer/attention.h"
#include "calibrate/trial/layer/product.h"

namespace meshwright::calibrate {

namespace {

struct Pass {
  const TrialContext& context;
  const PagedHeads& shape;
  const Tensor& heads;
  const PagedCache& cache;
  std::size_t layer;

  [[nodiscard]] std::int64_t head_size() const { return context.positions * shape.width; }
  // Between the first numbers of two groups.
  [[nodiscard]] std::int64_t group_size() const { return (shape.queries + 2) * head_size(); }

  void store(const SequenceRows& sequence) const {
    const float* keys = heads.data() + shape.queries * head_size();
    cache.store(layer, sequence, keys, keys + head_size(), group_size());
  }

  // One sequence: its queries, gathered from the rows of all, against its keys and values.
  void attend(const SequenceRows& sequence, const Tensor& out) const {
    Compute& compute = context.compute;
    const auto [groups, queries, width, window, logits] = shape;
    const std::int64_t rows = queries * sequence.rows;
    const std::int64_t count = paged_keys(sequence.seen());
    const std::int64_t own = sequence.rows * width, first = sequence.first_row * width;
    const Tensor query = context.tensor(groups * rows * width);
    for (std::int64_t g = 0; g < groups; ++g) {
      compute.copy_rows(query.data() + g * rows * width, own,
                        heads.data() + g * group_size() + first, head_size(), queries, own);
    }
    const Tensor keys = cache.keys(layer, sequence, count);
    const Tensor scores = context.tensor(groups * rows * count);
    MixedGemmCall call = product(rows, count, width, query.data(), keys.data(), scores.data());
    call.batch = groups;
    call.transpose_b = true;
    multiply(context, call);
    const AttentionSinks sinks =
        logits == nullptr ? AttentionSinks{} : AttentionSinks{logits, 1, queries};
    compute.causal_softmax_forward(scores.data(), scores.data(), score_scale(width),
                                   groups * queries, sequence.rows, count, sequence.cached, window,
                                   0, sinks);
    const Tensor values = cache.values(layer, sequence, count);
    const Tensor result = context.tensor(groups * rows * width);
    call = product(rows, width, count, scores.data(), values.data(), result.data());
    call.batch = groups;
    multiply(context, call);
    compute.copy_rows(out.data() + first, head_size(), result.data(), own, groups * queries, own);
  }
};

}  // namespace

Tensor attend_pages(const TrialContext& context, const PagedHeads& shape, const Tensor& heads,
                    const std::vector<SequenceRows>& sequences, const PagedCache& cache,
                    std::size_t layer) {
  const Pass pass{context, shape, heads, cache, layer};
  const Tensor out = context.tensor(shape.groups * shape.queries * pass.head_size());
  for (const SequenceRows& sequence : sequences) {
    pass.store(sequence);
    pass.attend(sequence, out);
  }
  Tensor merged = context.tensor(out.count());
  context.compute.from_heads(out.data(), merged.data(), context.positions, 1, shape.groups,
                             shape.queries, shape.width);
  return merged;
}

PagedAttention::PagedAttention(const TrialContext& context, ParameterStore& store,
                               const std::string& name, std::int64_t window)
    : context_(context),
      qkv_(context, store, name + ".qkv", SharedGroups::repeated),
      window_(window),
      sinks_(attention_sinks(context, store, name)),
      projection_(context, store, name + ".projection", query_size(context.model),
                  context.model.add_bias_linear, output_names(transfer_names::kAttention, false)) {}

PageShape PagedAttention::page_shape(int block_size) const {
  return {qkv_.groups(), qkv_.width(), qkv_.width(), block_size};
}

Tensor PagedAttention::forward(const Tensor& x, const std::vector<SequenceRows>& sequences,
                               const PagedCache& cache, std::size_t layer) const {
  HeadNormsSaved norms;  // given back at the end
  const Tensor heads = qkv_.forward(x, norms, Phase::forward);
  const PagedHeads shape{qkv_.groups(), qkv_.queries_of_group(), qkv_.width(), window_,
                         sinks_ == nullptr ? nullptr : sinks_->weight};
  return projection_.forward(attend_pages(context_, shape, heads, sequences, cache, layer),
                             Phase::forward);
}

}  // namespace meshwright::calibrate
