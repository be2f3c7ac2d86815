// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/paged_attention.h"

#include "calibrate/trial/layer/attention.h"
#include "calibrate/trial/layer/product.h"

namespace meshwright::calibrate {

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

// One sequence: its queries, gathered from the rows of all, against its keys and values.
void PagedAttention::attend(const Tensor& heads, const SequenceRows& sequence,
                            const PagedCache& cache, std::size_t layer, const Tensor& out) const {
  Compute& compute = context_.compute;
  const std::int64_t groups = qkv_.groups(), queries = qkv_.queries_of_group();
  const std::int64_t width = qkv_.width(), rows = queries * sequence.rows;
  const std::int64_t count = paged_keys(sequence.seen());
  const std::int64_t own = sequence.rows * width, first = sequence.first_row * width;
  const Tensor query = context_.tensor(groups * rows * width);
  for (std::int64_t g = 0; g < groups; ++g) {
    compute.copy_rows(query.data() + g * rows * width, own,
                      heads.data() + g * qkv_.block_size() + first, qkv_.head_size(), queries, own);
  }
  const Tensor keys = cache.keys(layer, sequence, count);
  const Tensor scores = context_.tensor(groups * rows * count);
  GemmCall call = product(rows, count, width, query.data(), keys.data(), scores.data());
  call.batch = groups;
  call.transpose_b = true;
  multiply(context_, call);
  const AttentionSinks sinks =
      sinks_ == nullptr ? AttentionSinks{} : AttentionSinks{sinks_->weight, 1, queries};
  compute.causal_softmax_forward(scores.data(), scores.data(), score_scale(width), groups * queries,
                                 sequence.rows, count, sequence.cached, window_, 0, sinks);
  const Tensor values = cache.values(layer, sequence, count);
  const Tensor result = context_.tensor(groups * rows * width);
  call = product(rows, width, count, scores.data(), values.data(), result.data());
  call.batch = groups;
  multiply(context_, call);
  const std::int64_t of_head = context_.positions * width;
  compute.copy_rows(out.data() + first, of_head, result.data(), own, groups * queries, own);
}

Tensor PagedAttention::forward(const Tensor& x, const std::vector<SequenceRows>& sequences,
                               const PagedCache& cache, std::size_t layer) const {
  HeadNormsSaved norms;  // given back at the end
  const Tensor heads = qkv_.forward(x, norms, Phase::forward);
  const float* keys = heads.data() + qkv_.queries_of_group() * qkv_.head_size();
  const std::int64_t all_heads = qkv_.groups() * qkv_.queries_of_group();
  const Tensor out = context_.tensor(all_heads * qkv_.head_size());
  for (const SequenceRows& sequence : sequences) {
    cache.store(layer, sequence, keys, keys + qkv_.head_size(), qkv_.block_size());
    attend(heads, sequence, cache, layer, out);
  }
  const Tensor merged = context_.tensor(out.count());
  context_.compute.from_heads(out.data(), merged.data(), context_.positions, 1, qkv_.groups(),
                              qkv_.queries_of_group(), qkv_.width());
  return projection_.forward(merged, Phase::forward);
}

}  // namespace meshwright::calibrate
