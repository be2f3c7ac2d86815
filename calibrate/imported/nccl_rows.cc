// SPDX-License-Identifier: Apache-2.0
#include "calibrate/imported/nccl_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "calibrate/imported/lines.h"
#include "sim/base/number_text.h"
#include "sim/collective/collective.h"

namespace meshwright::calibrate {
namespace {

MeasuredPoint point_of(Collective collective, const Placement& place, double size, double us) {
  // Every rank sends to the next one and hears from the one before: pairs, all at once.
  const bool pairs = collective == Collective::send_recv;
  const bool across = pairs && place.num_nodes > 1;
  GroupCall call;
  call.collective = collective;
  call.tier = place.tier();
  call.group_size = pairs ? 2 : place.group_size;
  call.ranks_per_node = across ? 1 : std::min(place.ranks_per_node, call.group_size);
  call.groups_per_node = across ? place.ranks_per_node : place.groups_per_node;
  MeasuredPoint point;
  point.subject = timed::CollectiveCall{call};
  point.amount = bytes(size);
  point.measurement = told(microseconds(us));
  return point;
}

// Types in the order in which a row is taken where a size was measured in several (-d all).
int type_rank(const std::string& type) {
  constexpr std::array kTypes{"bfloat16", "half", "float", "f8e4m3", "f8e5m2"};
  const auto at = std::find(kTypes.begin(), kTypes.end(), type);
  return static_cast<int>(at - kTypes.begin());
}

bool better(const TimedRow& a, const TimedRow& b) {
  if (type_rank(a.type) != type_rank(b.type)) return type_rank(a.type) < type_rank(b.type);
  return a.redop == "sum" && b.redop != "sum";
}
bool alike(const TimedRow& a, const TimedRow& b) { return !better(a, b) && !better(b, a); }

// Rows that were measured together, by size.
using Sweep = std::map<double, std::vector<TimedRow>>;
using Sweeps = std::map<std::tuple<Collective, int, int, int>, Sweep>;

std::string bytes_text(double size) {
  const double mib = size / 1048576.0;
  return mib >= 1.0 ? number_text(mib) + " MiB" : number_text(size / 1024.0) + " KiB";
}

// A link's rate grows with the message, and stays.
void note_cliff(const std::vector<TimedRow>& rows, Imported& result) {
  constexpr double kFalls = 0.5, kLarge = 1048576.0;
  double best = 0.0, best_size = 0.0;
  for (const TimedRow& row : rows) {
    const double rate =
        bus_factor(row.collective, row.place.group_size) * row.size / (row.us * 1e-6) / 1e9;
    if (row.size >= kLarge && rate < kFalls * best) {
      result.notes.push_back(fmt::format(
          "{} over {} ranks falls from {} GB/s (bus) at {} to {} at {}: no healthy link does so. A "
          "port that loses packets, a congested or wrong route, or another protocol of NCCL's from "
          "that size on; what is fitted holds for this machine as it was",
          name_of(row.collective), row.place.group_size, number_text(best, 3),
          bytes_text(best_size), number_text(rate, 3), bytes_text(row.size)));
      return;
    }
    if (rate >= best) {
      best = rate;
      best_size = row.size;
    }
  }
}

// Median row of the preferred type, if a size was measured several times.
TimedRow one_of(std::vector<TimedRow> rows) {
  std::stable_sort(rows.begin(), rows.end(), better);
  const auto end = std::find_if(rows.begin(), rows.end(),
                                [&](const TimedRow& row) { return !alike(row, rows.front()); });
  std::vector<TimedRow> same(rows.begin(), end);
  std::sort(same.begin(), same.end(),
            [](const TimedRow& a, const TimedRow& b) { return a.us < b.us; });
  return same[(same.size() - 1) / 2];
}

}  // namespace

void add_nccl_points(const std::vector<TimedRow>& rows, Imported& result) {
  Sweeps sweeps;
  for (const TimedRow& row : rows) {
    const Placement& p = row.place;
    sweeps[{row.collective, p.group_size, p.ranks_per_node, p.groups_per_node}][row.size].push_back(
        row);
  }
  bool several = false;
  for (const auto& [what, sweep] : sweeps) {
    std::vector<TimedRow> taken;
    for (const auto& [size, same_size] : sweep) {
      taken.push_back(one_of(same_size));
      for (const TimedRow& row : same_size) several = several || !alike(row, taken.back());
    }
    for (const TimedRow& row : taken) {
      result.points.push_back(point_of(row.collective, row.place, row.size, row.us));
      result.tool = "nccl-tests";
    }
    note_cliff(taken, result);
  }
  if (several) {
    result.notes.emplace_back(
        "sizes that were measured in several types or with several operations: one is taken, "
        "bfloat16 and the sum before others");
  }
}

}  // namespace meshwright::calibrate
