// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/context_exchange.h"

#include "sim/block/transfer_names.h"

namespace meshwright::calibrate {
namespace {

using namespace transfer_names;

}  // namespace

ContextExchange::ContextExchange(const TrialContext& context, const HeadShape& shape)
    : context_(context),
      shape_(shape),
      ranks_(context.layout.context_parallel_size),
      own_(context.positions),
      blocks_(shape.groups * context.layout.micro_batch_size) {}

ContextExchange::Parts ContextExchange::key_parts() const {
  return {shape_.key_width, shape_.value_width};
}

ContextExchange::Parts ContextExchange::head_parts() const {
  Parts parts(static_cast<std::size_t>(shape_.queries) + 1, shape_.key_width);
  parts.push_back(shape_.value_width);
  return parts;
}

ContextExchange::Parts ContextExchange::output_parts() const {
  return Parts(static_cast<std::size_t>(shape_.queries), shape_.value_width);
}

void ContextExchange::move_piece(const Parts& parts, float* whole, float* piece, int rank,
                                 std::int64_t blocks, bool into_whole) const {
  const std::int64_t width = sum(parts), chunk = own_ / 2;
  const std::int64_t whole_block = ranks_ * own_ * width, block = own_ * width;
  std::int64_t begin = 0;  // of the part, in columns of one position
  for (const std::int64_t cols : parts) {
    for (const bool second : {false, true}) {
      const std::int64_t at = (second ? 2 * ranks_ - 1 - rank : rank) * chunk;
      float* in_whole = whole + begin * ranks_ * own_ + at * cols;
      float* in_piece = piece + begin * own_ + (second ? chunk : 0) * cols;
      if (into_whole) {
        context_.compute.copy_rows(in_whole, whole_block, in_piece, block, blocks, chunk * cols);
      } else {
        context_.compute.copy_rows(in_piece, block, in_whole, whole_block, blocks, chunk * cols);
      }
    }
    begin += cols;
  }
}

Tensor ContextExchange::packed_keys(const Tensor& heads) const {
  const std::int64_t cols = own_ * (shape_.key_width + shape_.value_width);
  Tensor packed = context_.tensor(blocks_ * cols);
  context_.compute.copy_rows(packed.data(), cols, heads.data() + own_ * shape_.keys_at(),
                             own_ * shape_.width(), blocks_, cols);
  return packed;
}

void ContextExchange::pass_round(std::string_view name, Phase phase, const float* send,
                                 float* receive, std::int64_t count) const {
  CountedGroup& group = context_.groups.context;
  const int next = (group.rank() + 1) % group.size();
  const int previous = (group.rank() + group.size() - 1) % group.size();
  group.send_and_receive(name, phase, send, next, receive, previous, count);
}

Tensor ContextExchange::gather_keys(const Tensor& heads, Phase phase) const {
  CountedGroup& group = context_.groups.context;
  const int size = group.size(), rank = group.rank();
  const Tensor own = packed_keys(heads);
  const Tensor all = context_.tensor(own.count() * size);
  const bool again = phase == Phase::backward;
  const auto piece = [&](int of) { return all.data() + (of + size) % size * own.count(); };
  if (context_.layout.cp_comm_type == ContextParallelAlgorithm::all_gather) {
    group.all_gather(again ? kKeyGatherAgain : kKeyGather, phase, own.data(), all.data(),
                     own.count());
  } else {
    context_.compute.copy(piece(rank), own.data(), own.size());
    for (int hop = 1; hop < size; ++hop) {
      pass_round(again ? kKeyRingAgain : kKeyRing, phase, piece(rank - hop + 1), piece(rank - hop),
                 own.count());
    }
  }
  Tensor whole = context_.tensor(all.count());
  for (int r = 0; r < size; ++r) move_piece(key_parts(), whole.data(), piece(r), r, blocks_, true);
  return whole;
}

void ContextExchange::scatter_key_gradients(const Tensor& gathered, const Tensor& heads) const {
  CountedGroup& group = context_.groups.context;
  const int size = group.size(), rank = group.rank();
  const std::int64_t count = gathered.count() / size;
  const Tensor all = context_.tensor(gathered.count());
  const Tensor own = context_.tensor(count);
  const auto piece = [&](int of) { return all.data() + (of + 2 * size) % size * count; };
  for (int r = 0; r < size; ++r) {
    move_piece(key_parts(), gathered.data(), piece(r), r, blocks_, false);
  }
  const float* sum = own.data();
  if (context_.layout.cp_comm_type == ContextParallelAlgorithm::all_gather) {
    group.reduce_scatter(kKeyGradientScatter, Phase::backward, all.data(), own.data(), count);
  } else {
    for (int hop = 1; hop < size; ++hop) {
      float* mine = piece(rank - 1 - hop);
      pass_round(kKeyGradientRing, Phase::backward, piece(rank - hop), own.data(), count);
      context_.compute.add(mine, own.data(), mine, count);
    }
    sum = piece(rank);
  }
  const std::int64_t cols = own_ * (shape_.key_width + shape_.value_width);
  context_.compute.copy_rows(heads.data() + own_ * shape_.keys_at(), own_ * shape_.width(), sum,
                             cols, blocks_, cols);
}

// Blocks are dealt out in rank order: what goes to a rank lies together.
Tensor ContextExchange::joined(const Parts& parts, const Tensor& own, Phase phase) const {
  CountedGroup& group = context_.groups.context;
  const Tensor pieces = context_.tensor(own.count());
  group.all_to_all(phase == Phase::backward ? kHeadsExchangeGradient : kHeadsExchange, phase,
                   own.data(), pieces.data(), own.count() / ranks_);
  Tensor all = context_.tensor(own.count());
  for (int r = 0; r < group.size(); ++r) {
    move_piece(parts, all.data(), pieces.data() + r * (own.count() / ranks_), r, blocks_ / ranks_,
               true);
  }
  return all;
}

Tensor ContextExchange::parted(const Parts& parts, const Tensor& all, Phase phase) const {
  CountedGroup& group = context_.groups.context;
  const Tensor pieces = context_.tensor(all.count());
  for (int r = 0; r < group.size(); ++r) {
    move_piece(parts, all.data(), pieces.data() + r * (all.count() / ranks_), r, blocks_ / ranks_,
               false);
  }
  Tensor own = context_.tensor(all.count());
  group.all_to_all(phase == Phase::backward ? kHeadsExchangeGradient : kHeadsExchange, phase,
                   pieces.data(), own.data(), all.count() / ranks_);
  return own;
}

Tensor ContextExchange::to_all_positions(const Tensor& heads, Phase phase) const {
  return joined(head_parts(), heads, phase);
}

Tensor ContextExchange::to_own_positions(const Tensor& heads, Phase phase) const {
  return parted(head_parts(), heads, phase);
}

Tensor ContextExchange::outputs_to_all_positions(const Tensor& out, Phase phase) const {
  return joined(output_parts(), out, phase);
}

Tensor ContextExchange::outputs_to_own_positions(const Tensor& out, Phase phase) const {
  return parted(output_parts(), out, phase);
}

}  // namespace meshwright::calibrate
