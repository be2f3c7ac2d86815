// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/token_gather.h"

#include <cstring>
#include <utility>

#include "sim/block/transfer_names.h"

namespace meshwright::calibrate {
namespace {

// Stores entries as numbers of 4 bytes; the last one may have room left.
template <typename Number>
Tensor uploaded_integers(const TrialContext& context, const std::vector<Number>& values) {
  const std::size_t size = values.size() * sizeof(Number);
  std::vector<float> whole((size + sizeof(float) - 1) / sizeof(float), 0.0F);
  std::memcpy(whole.data(), values.data(), size);
  Tensor device = context.tensor(static_cast<std::int64_t>(whole.size()));
  context.compute.upload(device.data(), whole.data(), device.size());
  context.compute.synchronize();
  return device;
}

Tensor copied(const TrialContext& context, const Tensor& from) {
  Tensor to = context.tensor(from.count());
  context.compute.copy(to.data(), from.data(), from.size());
  return to;
}

int ranks_of(const TrialContext& context) {
  return context.groups.expert.size() * context.groups.expert_tensor.size();
}

Tensor gathered(const TrialContext& context, const Tensor& own, std::string_view name,
                Phase phase) {
  if (ranks_of(context) == 1) return copied(context, own);
  Tensor all;
  for (CountedGroup* group : {&context.groups.expert, &context.groups.expert_tensor}) {
    if (group->size() == 1) continue;
    const Tensor& part = all.empty() ? own : all;
    Tensor more = context.tensor(part.count() * group->size());
    group->all_gather(name, phase, part.data(), more.data(), part.count());
    all = std::move(more);
  }
  return all;
}

Tensor scattered(const TrialContext& context, Tensor all, std::string_view name, Phase phase) {
  for (CountedGroup* group : {&context.groups.expert_tensor, &context.groups.expert}) {
    if (group->size() == 1) continue;
    Tensor part = context.tensor(all.count() / group->size());
    group->reduce_scatter(name, phase, all.data(), part.data(), part.count());
    all = std::move(part);
  }
  return all;
}

// Ranks' maps, each of whole numbers of 4 bytes.
std::vector<std::uint8_t> gathered_map(const TrialContext& context,
                                       const std::vector<std::uint8_t>& own, Phase phase) {
  const Tensor device = uploaded_integers(context, own);
  const std::vector<float> all =
      downloaded(context, gathered(context, device, transfer_names::kRoutingMapGather, phase));
  const auto ranks = static_cast<std::size_t>(ranks_of(context));
  std::vector<std::uint8_t> map(own.size() * ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    std::memcpy(map.data() + r * own.size(), all.data() + r * (all.size() / ranks), own.size());
  }
  return map;
}

}  // namespace

RouteTable::RouteTable(std::int64_t tokens, std::int64_t all_experts)
    : experts(all_experts),
      map(static_cast<std::size_t>(tokens * all_experts)),
      probabilities(map.size()) {}

void RouteTable::set(std::int64_t token, std::int64_t expert, float probability) {
  const auto at = static_cast<std::size_t>(token * experts + expert);
  map[at] = 1;
  probabilities[at] = probability;
}

GatheredRows gathered_rows(const TrialContext& context, const RouteTable& own, Phase phase) {
  const std::vector<std::uint8_t> map = gathered_map(context, own.map, phase);
  const std::vector<float> probabilities =
      downloaded(context, gathered(context, uploaded_integers(context, own.probabilities),
                                   transfer_names::kExpertProbabilityGather, phase));
  GatheredRows rows;
  rows.tokens = static_cast<std::int64_t>(map.size()) / own.experts;
  const std::int64_t here = own.experts / context.groups.expert.size();
  const std::int64_t first = here * context.groups.expert.rank();
  std::vector<std::int32_t> tokens;
  for (std::int64_t expert = first; expert < first + here; ++expert) {
    const std::size_t before = tokens.size();
    for (std::int64_t token = 0; token < rows.tokens; ++token) {
      const auto at = static_cast<std::size_t>(token * own.experts + expert);
      if (map[at] == 0) continue;
      tokens.push_back(static_cast<std::int32_t>(token));
      rows.entries.push_back(static_cast<std::int64_t>(at));
      rows.probabilities.push_back(probabilities[at]);
    }
    rows.of_expert.push_back(static_cast<std::int64_t>(tokens.size() - before));
  }
  rows.tokens_of_rows = uploaded_integers(context, tokens);
  return rows;
}

Tensor rows_of_tokens(const TrialContext& context, const GatheredRows& rows, const Tensor& x,
                      std::string_view name, Phase phase) {
  const Tensor all = gathered(context, x, name, phase);
  const auto count = static_cast<std::int64_t>(rows.entries.size());
  Tensor values = context.tensor(count * context.hidden());
  context.compute.embedding_forward(rows.tokens_of_rows.integers(), all.data(), values.data(),
                                    count, 0, rows.tokens, context.hidden());
  return values;
}

Tensor tokens_of_rows(const TrialContext& context, const GatheredRows& rows, Tensor values,
                      std::string_view name, Phase phase) {
  Tensor all = context.tensor(rows.tokens * context.hidden());
  context.compute.fill_zero(all.data(), all.size());
  context.compute.embedding_backward(rows.tokens_of_rows.integers(), values.data(), all.data(),
                                     static_cast<std::int64_t>(rows.entries.size()), 0, rows.tokens,
                                     context.hidden());
  values.release();
  return scattered(context, std::move(all), name, phase);
}

std::vector<float> table_of_rows(const TrialContext& context, const GatheredRows& rows,
                                 const Tensor& values, std::int64_t experts,
                                 std::string_view name) {
  const std::vector<float> of_rows = downloaded(context, values);
  std::vector<float> table(static_cast<std::size_t>(rows.tokens * experts), 0.0F);
  for (std::size_t i = 0; i < of_rows.size(); ++i) {
    table[static_cast<std::size_t>(rows.entries[i])] = of_rows[i];
  }
  return downloaded(context,
                    scattered(context, uploaded_integers(context, table), name, Phase::backward));
}

}  // namespace meshwright::calibrate
