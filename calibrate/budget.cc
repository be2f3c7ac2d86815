// SPDX-License-Identifier: Apache-2.0
#include "calibrate/budget.h"

#include <algorithm>

#include "calibrate/sweep.h"
#include "sim/base/overloaded.h"

namespace meshwright::calibrate {
namespace {

// Share of the budget for one kind, and the fewest points (for each tier) that a profile needs. The
// models of a link and of GEMMs need four.
struct Part {
  double share;
  std::size_t fewest;
};
constexpr std::array<Part, kNumBudgetKinds> kParts{{
    {0.05, 1},  // memory
    {0.35, 4},  // product
    {0.15, 1},  // kernel
    {0.20, 4},  // all_reduce
    {0.15, 1},  // other_collective
    {0.10, 1},  // point_to_point
}};

std::size_t index(BudgetKind kind) { return static_cast<std::size_t>(kind); }

// A point without communication counts as of the first tier.
std::size_t tier_index(const MeasuredPoint& point) {
  const GroupCall* call = call_of(point.subject);
  return static_cast<std::size_t>(call == nullptr ? Tier::intra_node : call->tier);
}

}  // namespace

BudgetKind budget_kind(const MeasuredPoint& point) {
  return std::visit(Overloaded{[](const timed::Gemm&) { return BudgetKind::product; },
                               [](const timed::SustainedGemm&) { return BudgetKind::product; },
                               [](const timed::GroupedGemm&) { return BudgetKind::product; },
                               [](const timed::Kernel&) { return BudgetKind::kernel; },
                               [](const timed::Attention&) { return BudgetKind::kernel; },
                               [](const timed::Overlap&) { return BudgetKind::other_collective; },
                               [](const timed::CollectiveCall& s) {
                                 if (s.call.collective == Collective::all_reduce)
                                   return BudgetKind::all_reduce;
                                 return s.call.collective == Collective::send_recv
                                            ? BudgetKind::point_to_point
                                            : BudgetKind::other_collective;
                               },
                               [](const timed::MemoryCopy&) { return BudgetKind::memory; },
                               [](const timed::HostLink&) { return BudgetKind::memory; },
                               [](const timed::KernelLaunch&) { return BudgetKind::memory; },
                               [](const timed::HostLaunch&) { return BudgetKind::memory; },
                               [](const timed::CopyOverlap&) { return BudgetKind::memory; },
                               [](const timed::StepPass&) { return BudgetKind::kernel; },
                               [](const timed::PagedAttention&) { return BudgetKind::kernel; },
                               [](const timed::EngineStep&) { return BudgetKind::kernel; },
                               [](const timed::ServedStep&) { return BudgetKind::kernel; },
                               [](const timed::CacheCopy&) { return BudgetKind::point_to_point; }},
                    point.subject);
}

Budget::Budget(const std::vector<MeasuredPoint>& points) : points_(points) {
  for (std::size_t i = 0; i < points.size(); ++i) account_of(i).points.push_back(i);
}

Budget::Account& Budget::account_of(std::size_t point) {
  return accounts_[index(budget_kind(points_[point]))];
}

bool Budget::is_needed(std::size_t point) const {
  const std::size_t kind = index(budget_kind(points_[point]));
  const std::size_t tier = tier_index(points_[point]);
  return accounts_[kind].measured[tier] < kParts[kind].fewest || is_essential(points_[point]);
}

std::optional<std::size_t> Budget::next(bool time_left) const {
  std::optional<std::size_t> best;
  double least = 0.0;
  for (std::size_t kind = 0; kind < kNumBudgetKinds; ++kind) {
    const Account& account = accounts_[kind];
    const auto point = std::find_if(account.points.begin(), account.points.end(),
                                    [&](std::size_t p) { return time_left || is_needed(p); });
    const double used = account.spent / kParts[kind].share;
    if (point == account.points.end() || (best && used >= least)) continue;
    best = *point;
    least = used;
  }
  return best;
}

double Budget::even_share(std::size_t point, double remaining) const {
  double shares = 0.0;
  for (std::size_t kind = 0; kind < kNumBudgetKinds; ++kind) {
    if (!accounts_[kind].points.empty()) shares += kParts[kind].share;
  }
  const std::size_t kind = index(budget_kind(points_[point]));
  const auto left = static_cast<double>(accounts_[kind].points.size());
  return remaining * kParts[kind].share / shares / left;
}

std::size_t Budget::num_left() const {
  std::size_t count = 0;
  for (const Account& account : accounts_) count += account.points.size();
  return count;
}

void Budget::done(std::size_t point, double seconds, bool was_measured) {
  Account& account = account_of(point);
  std::erase(account.points, point);
  account.spent += seconds;
  if (was_measured) ++account.measured[tier_index(points_[point])];
}

}  // namespace meshwright::calibrate
