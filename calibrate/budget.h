// SPDX-License-Identifier: Apache-2.0
// Who gets the next part of a calibration's budget, so that a short one, or a busy machine, has
// measured something of every kind. Pure.
//
// Each kind of point has a share. The kind that has had least of its own is next, in the sweep's
// order within it; kinds that are done leave their share to the others.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

enum class BudgetKind { memory, product, kernel, all_reduce, other_collective, point_to_point };
inline constexpr std::size_t kNumBudgetKinds = 6;
BudgetKind budget_kind(const MeasuredPoint& point);

class Budget {
 public:
  explicit Budget(const std::vector<MeasuredPoint>& points);

  // Index of the next point. Without time left, only what no profile can do without.
  [[nodiscard]] std::optional<std::size_t> next(bool time_left) const;
  // Tells whether a profile needs this point.
  [[nodiscard]] bool is_needed(std::size_t point) const;
  // Seconds for this point out of the `remaining` ones: an even share of its kind's part.
  [[nodiscard]] double even_share(std::size_t point, double remaining) const;
  [[nodiscard]] std::size_t num_left() const;
  // It is not asked for again. Not measured: left out.
  void done(std::size_t point, double seconds, bool was_measured);

 private:
  struct Account {
    std::vector<std::size_t> points;  // not yet done, in the sweep's order
    double spent = 0.0;
    std::array<std::size_t, kTierNames.size()> measured{};  // of each tier
  };
  Account& account_of(std::size_t point);

  const std::vector<MeasuredPoint>& points_;
  std::array<Account, kNumBudgetKinds> accounts_;
};

}  // namespace meshwright::calibrate
