// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/query_key_value.h"

#include <algorithm>
#include <utility>

#include "sim/block/transfer_names.h"

namespace meshwright::calibrate {

QueryKeyValue::QueryKeyValue(const TrialContext& context, ParameterStore& store,
                             const std::string& name, SharedGroups shared)
    : context_(context),
      width_(context.model.kv_channels),
      groups_(std::max(1, context.model.num_query_groups / context.layout.tensor_parallel_size)),
      queries_(context.model.num_attention_heads / context.layout.tensor_parallel_size / groups_) {
  const std::int64_t cols = query_size(context.model) + 2 * key_size(context.model);
  if (shared == SharedGroups::repeated && shares_groups()) {
    const std::int64_t ranks = context.layout.tensor_parallel_size / context.model.num_query_groups;
    const std::int64_t of_group = (ranks * queries_ + 2) * width_;
    const std::int64_t rank = context.groups.at.tensor, first = rank / ranks * of_group;
    add_own_columns(store, name, first + rank % ranks * queries_ * width_, queries_ * width_);
    add_own_columns(store, name, first + ranks * queries_ * width_, 2 * width_);
  } else {
    linear_.emplace(context, store, name, 1, cols, has_bias(),
                    input_names(transfer_names::kAttention, context.layout.sequence_parallel));
  }
  if (!context.model.qk_layernorm) return;
  query_norm_.emplace(context, store, name + ".q_norm", width_, NormOf::heads);
  key_norm_.emplace(context, store, name + ".k_norm", width_, NormOf::heads);
}

bool QueryKeyValue::shares_groups() const {
  return context_.model.num_query_groups < context_.layout.tensor_parallel_size;
}

bool QueryKeyValue::has_bias() const {
  return context_.model.add_bias_linear || context_.model.add_qkv_bias;
}

void QueryKeyValue::add_own_columns(ParameterStore& store, const std::string& name,
                                    std::int64_t first, std::int64_t cols) {
  Parameter p;
  p.name = name + ".weight";
  p.rows = p.local_rows = context_.hidden();
  p.cols = query_size(context_.model) + 2 * key_size(context_.model);
  p.first_col = first;
  p.local_cols = cols;
  Parameter* weight = &store.add(p);
  Parameter* bias = nullptr;
  if (has_bias()) {
    p.name = name + ".bias";
    p.init = Init::bias;
    p.rows = p.local_rows = 1;
    bias = &store.add(p);
  }
  own_columns_.push_back({weight, bias, cols});
}

// The group's columns are its queries, key and value; this rank works on `queries_` of the queries.
std::vector<QueryKeyValue::Run> QueryKeyValue::own_runs() const {
  const std::int64_t share = linear_->local_cols();
  const std::int64_t ranks = context_.layout.tensor_parallel_size / context_.model.num_query_groups;
  const std::int64_t group = context_.groups.at.tensor / ranks;
  const std::int64_t member = context_.groups.at.tensor % ranks;
  const std::int64_t own = queries_ * width_;
  std::vector<Run> runs;
  const auto add = [&](std::int64_t begin, std::int64_t cols, std::int64_t to) {
    begin += group * ranks * share;  // in all columns; piece i holds [i, i + 1) * share
    while (cols > 0) {
      const std::int64_t inside = begin % share;
      const std::int64_t here = std::min(cols, share - inside);
      runs.push_back({begin / share, inside, to, here});
      begin += here;
      to += here;
      cols -= here;
    }
  };
  add(member * own, own, 0);
  add(ranks * own, 2 * width_, own);
  return runs;
}

Tensor QueryKeyValue::pick(Tensor fused, Phase phase) const {
  if (!shares_groups()) return fused;
  const std::int64_t rows = context_.rows();
  const std::int64_t share = linear_->local_cols();
  const Tensor all = context_.tensor(fused.count() * context_.layout.tensor_parallel_size);
  context_.groups.tensor.all_gather(transfer_names::kSharedGroupsAllGather, phase, fused.data(),
                                    all.data(), fused.count());
  const std::int64_t cols = (queries_ + 2) * width_;
  Tensor own = context_.tensor(rows * cols);
  for (const Run& r : own_runs()) {
    context_.compute.copy_rows(own.data() + r.to, cols,
                               all.data() + r.piece * rows * share + r.from, share, rows, r.cols);
  }
  return own;
}

Tensor QueryKeyValue::put_back(Tensor own) const {
  if (!shares_groups()) return own;
  const std::int64_t rows = context_.rows();
  const std::int64_t share = linear_->local_cols();
  const Tensor all = context_.tensor(rows * share * context_.layout.tensor_parallel_size);
  context_.compute.fill_zero(all.data(), all.size());
  const std::int64_t cols = (queries_ + 2) * width_;
  for (const Run& r : own_runs()) {
    context_.compute.copy_rows(all.data() + r.piece * rows * share + r.from, share,
                               own.data() + r.to, cols, rows, r.cols);
  }
  Tensor fused = context_.tensor(rows * share);
  context_.groups.tensor.reduce_scatter(transfer_names::kSharedGroupsReduceScatter, Phase::backward,
                                        all.data(), fused.data(), fused.count());
  return fused;
}

void QueryKeyValue::rotate(const Tensor& heads, bool inverse) const {
  if (context_.rotary_table == nullptr) return;
  context_.compute.rotary(heads.data(), context_.rotary_table + context_.first_position * width_,
                          blocks(), queries_ + 2, queries_ + 1, context_.positions, width_,
                          inverse);
}

Tensor QueryKeyValue::taken(const Tensor& heads, std::int64_t first, std::int64_t count) const {
  const std::int64_t size = count * head_size();
  Tensor own = context_.tensor(blocks() * size);
  context_.compute.copy_rows(own.data(), size, heads.data() + first * head_size(), block_size(),
                             blocks(), size);
  return own;
}

void QueryKeyValue::put(const Tensor& heads, std::int64_t first, const Tensor& from) const {
  const std::int64_t size = from.count() / blocks();
  context_.compute.copy_rows(heads.data() + first * head_size(), block_size(), from.data(), size,
                             blocks(), size);
}

void QueryKeyValue::norm_heads(const Tensor& heads, HeadNormsSaved& saved) const {
  if (!query_norm_) return;
  saved.queries = taken(heads, 0, queries_);
  saved.keys = taken(heads, queries_, 1);
  put(heads, 0, query_norm_->forward(saved.queries, saved.query_norm));
  put(heads, queries_, key_norm_->forward(saved.keys, saved.key_norm));
}

void QueryKeyValue::norm_heads_backward(const Tensor& dheads, HeadNormsSaved& saved) const {
  if (!query_norm_) return;
  put(dheads, 0,
      query_norm_->backward(taken(dheads, 0, queries_), saved.queries, saved.query_norm));
  put(dheads, queries_,
      key_norm_->backward(taken(dheads, queries_, 1), saved.keys, saved.key_norm));
  saved = {};
}

Tensor QueryKeyValue::repeated(const Tensor& x) const {
  const std::int64_t rows = context_.rows(), cols = (queries_ + 2) * width_;
  Tensor own = context_.tensor(rows * cols);
  std::int64_t at = 0;
  for (const OwnColumns& part : own_columns_) {
    const Tensor y = context_.tensor(rows * part.cols);
    forward_product(context_, rows, x.numbers(), *part.weight, y.data());
    if (part.bias != nullptr) {
      context_.compute.add_bias(y.data(), part.bias->weight, rows, part.cols);
    }
    context_.compute.copy_rows(own.data() + at, cols, y.data(), part.cols, rows, part.cols);
    at += part.cols;
  }
  return own;
}

Tensor QueryKeyValue::projected(const Tensor& x, Phase phase) const {
  if (!linear_) return repeated(x);
  Tensor fused = linear_->forward(x, phase);
  if (linear_->bias() != nullptr) {
    context_.compute.add_bias(fused.data(), linear_->bias()->weight, context_.rows(),
                              linear_->local_cols());
  }
  return pick(std::move(fused), phase);
}

Tensor QueryKeyValue::forward(const Tensor& x, HeadNormsSaved& saved, Phase phase) const {
  const Tensor own = projected(x, phase);
  Tensor heads = context_.tensor(own.count());
  context_.compute.to_heads(own.data(), heads.data(), context_.positions,
                            context_.layout.micro_batch_size, groups_, queries_ + 2, width_);
  norm_heads(heads, saved);
  rotate(heads, false);
  return heads;
}

Tensor QueryKeyValue::backward(Tensor dheads, const Tensor& x, HeadNormsSaved& saved) const {
  rotate(dheads, true);
  norm_heads_backward(dheads, saved);
  Tensor own = context_.tensor(dheads.count());
  context_.compute.from_heads(dheads.data(), own.data(), context_.positions,
                              context_.layout.micro_batch_size, groups_, queries_ + 2, width_);
  dheads.release();
  const Tensor dfused = put_back(std::move(own));
  if (linear_->bias() != nullptr) {
    context_.compute.bias_backward(dfused.data(), linear_->bias()->gradient, context_.rows(),
                                   linear_->local_cols());
  }
  return linear_->backward(dfused, x);
}

}  // namespace meshwright::calibrate
