// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <type_traits>

#include "calibrate/measure/deepep.h"
#include "sim/base/overloaded.h"
#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {
namespace {

std::string size_text(Bytes amount) {
  const double kib = amount / kibibytes(1);
  return kib < 1024.0 ? fmt::format("{:.4g} KiB", kib) : fmt::format("{:.4g} MiB", kib / 1024.0);
}

// ", 2 a node, 4 groups at once"
std::string slots_text(const GroupCall& c) {
  std::string text;
  if (c.tier == Tier::inter_node && c.ranks_per_node > 0) {
    text += fmt::format(", {} a node", c.ranks_per_node);
  }
  if (c.stride > 1) text += fmt::format(", every {}th", c.stride);
  if (is_deepep(c)) text += ", " + c.algorithm;
  if (c.groups_per_node > 1) text += fmt::format(", {} groups a node at once", c.groups_per_node);
  return text;
}

std::string product_label(std::string_view kind, const Product& product) {
  const GemmShape& s = product.variant.shape;
  const std::string batch = s.batch > 1 ? fmt::format("{} x ", s.batch) : "";
  return fmt::format("{} {} {}({} x {} x {})", kind, name_of(product.precision), batch, s.m, s.n,
                     s.k);
}

// Key of a group call without the algorithm that the library chose. DeepEP's kernels are others.
auto group_key(const GroupCall& c) {
  return std::make_tuple(c.collective, c.tier, c.group_size, c.ranks_per_node, c.groups_per_node,
                         c.stride, is_deepep(c) ? c.algorithm : std::string());
}

template <typename T>
bool same_timed(const T& a, const T& b) {
  return a == b;
}
bool same_timed(const timed::Gemm& a, const timed::Gemm& b) { return a.product == b.product; }
bool same_timed(const timed::CopyOverlap& a, const timed::CopyOverlap& b) {
  return a.product == b.product && a.direction == b.direction;
}
bool same_timed(const timed::Kernel& a, const timed::Kernel& b) {
  return a.name == b.name && a.sizes == b.sizes;
}
bool same_timed(const timed::CollectiveCall& a, const timed::CollectiveCall& b) {
  return group_key(a.call) == group_key(b.call);
}
bool same_timed(const timed::Overlap& a, const timed::Overlap& b) {
  return a.product == b.product && group_key(a.call) == group_key(b.call);
}
bool same_timed(const timed::StepPass& a, const timed::StepPass& b) {
  return a.pass == b.pass && a.model == b.model && a.layers == b.layers && a.tokens == b.tokens;
}

bool same_timed(const timed::ServedStep& a, const timed::ServedStep& b) {
  const auto key = [](const ServedStepShape& s) {
    return std::tie(s.prompts, s.model, s.layers, s.tensor_parallel_size, s.pipeline_parallel_size,
                    s.sequences, s.tokens);
  };
  return key(a.shape) == key(b.shape);
}

}  // namespace

std::string_view MeasuredPoint::kind() const {
  return std::visit([](const auto& s) { return s.kName; }, subject);
}

std::string MeasuredPoint::label() const {
  const std::string size = size_text(amount);
  const auto plain = [&](const auto& s) { return fmt::format("{} {}", s.kName, size); };
  return std::visit(
      Overloaded{
          [](const timed::Gemm& s) { return product_label(s.kName, s.product); },
          [](const timed::SustainedGemm& s) { return product_label(s.kName, s.product); },
          [](const timed::GroupedGemm& s) { return product_label(s.kName, s.product); },
          [&](const timed::Kernel& s) { return fmt::format("kernel {} {}", s.name, size); },
          [&](const timed::MemoryCopy& s) { return plain(s); },
          [&](const timed::HostLink& s) {
            return fmt::format("host_link {} {}", name_of(s.direction), size);
          },
          [&](const timed::KernelLaunch& s) { return plain(s); },
          [](const timed::HostLaunch& s) { return std::string(s.kName); },
          [&](const timed::CollectiveCall& s) {
            return fmt::format("{} {} over {} ranks{}", name_of(s.call.collective), size,
                               s.call.group_size, slots_text(s.call));
          },
          [&](const timed::Overlap& s) {
            const GemmShape& shape = s.product.variant.shape;
            return fmt::format("gemm {} ({} x {} x {}) beside {} {} over {} ranks",
                               name_of(s.product.precision), shape.m, shape.n, shape.k,
                               name_of(s.call.collective), size, s.call.group_size);
          },
          [&](const timed::CopyOverlap& s) {
            const GemmShape& shape = s.product.variant.shape;
            return fmt::format("gemm {} ({} x {} x {}) overlapped with host_link {} {}",
                               name_of(s.product.precision), shape.m, shape.n, shape.k,
                               name_of(s.direction), size);
          },
          [](const timed::StepPass& s) {
            return fmt::format("{} of {} layers of {}, {} tokens", name_of(s.pass), s.layers,
                               s.model, s.tokens);
          },
          // "paged_attention of 8 sequences, 1 new token behind 159, 8 heads of 32"
          [](const timed::PagedAttention& a) {
            const PagedAttentionShape& s = a.shape;
            return fmt::format("{} of {} sequences, {} new tokens behind {}, {} heads of {}{}",
                               a.kName, s.sequences, s.rows, s.cached, s.heads, s.head_dim,
                               s.is_latent() ? ", latent" : "");
          },
          [](const timed::EngineStep& s) {
            return fmt::format("{} of {} sequences with {} logits", s.kName, s.shape.sequences,
                               s.shape.vocab);
          },
          // "served_step of 4 layers of small-llama, tp2 pp1: 8 prompts of 48 tokens"
          [](const timed::ServedStep& one) {
            const ServedStepShape& s = one.shape;
            return fmt::format("{} of {} layers of {}, tp{} pp{}: {} {} {} tokens", one.kName,
                               s.layers, s.model, s.tensor_parallel_size, s.pipeline_parallel_size,
                               s.sequences, s.prompts ? "prompts of" : "decodes behind", s.tokens);
          },
          // "cache_copy of 160 tokens, 4 layers"
          [](const timed::CacheCopy& c) {
            return fmt::format("{} of {} tokens, {} layers", c.kName, c.shape.tokens,
                               c.shape.layers);
          },
          // "attention backward 2 x 16 heads of 128, 8192 positions"
          [](const timed::Attention& a) {
            const AttentionShape& s = a.shape;
            return fmt::format("attention {} {} x {} heads of {}, {} positions{}",
                               s.backward ? "backward" : "forward", s.batch, s.heads, s.head_dim,
                               s.positions, s.causal ? "" : ", not causal");
          }},
      subject);
}

bool same_subject(const MeasuredPoint& a, const MeasuredPoint& b) {
  if (a.subject.index() != b.subject.index() || a.amount != b.amount) return false;
  return std::visit(
      [&](const auto& s) { return same_timed(s, std::get<std::decay_t<decltype(s)>>(b.subject)); },
      a.subject);
}

double timed::Overlap::slowdown(Seconds both) const {
  return std::clamp((both - product_alone) / collective_alone, 0.0, 1.0);
}

double timed::CopyOverlap::slowdown(Seconds both) const {
  return std::clamp((both - product_alone) / copy_alone, 0.0, 1.0);
}

}  // namespace meshwright::calibrate
