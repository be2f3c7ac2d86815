// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/samples.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "sim/base/statistics.h"

namespace meshwright::calibrate {
namespace {

double sum_of(const Recorder::Terms& terms) {
  return std::accumulate(terms.begin(), terms.end(), 0.0);
}

// Time with other ranks: transfers, and waiting for them.
double time_with_others(const Recorder::Terms& terms) {
  double sum = 0.0;
  for (const TermKind kind :
       {TermKind::tensor_parallel_communication, TermKind::context_parallel_communication,
        TermKind::expert_parallel_communication, TermKind::pipeline_communication,
        TermKind::pipeline_bubble, TermKind::data_parallel_communication}) {
    sum += terms[static_cast<std::size_t>(kind)];
  }
  return sum;
}

std::vector<Recorder::Terms> of_all_ranks(const Recorder& recorder, Communicator& ranks) {
  std::vector<Recorder::Terms> all(static_cast<std::size_t>(ranks.size()));
  ranks.host_gather(recorder.terms().data(), all.data(), sizeof(Recorder::Terms));
  return all;
}

// A rank that comes late to a collective finds the others there: the shortest time is the
// transfer's, the others' holds their waiting.
std::vector<double> shortest(std::vector<double> own, Communicator& ranks) {
  const std::size_t count = own.size();
  std::vector<double> all(count * static_cast<std::size_t>(ranks.size()));
  if (count == 0) return own;
  ranks.host_gather(own.data(), all.data(), count * sizeof(double));
  for (std::size_t i = 0; i < all.size(); ++i) own[i % count] = std::min(own[i % count], all[i]);
  return own;
}

struct PackedInterval {
  std::int32_t kind, micro_batch, chunk;
  double begin, end;
  std::array<char, 80> name;
};

PackedInterval packed(const RecordedInterval& interval) {
  PackedInterval p{static_cast<std::int32_t>(interval.kind),
                   interval.micro_batch,
                   interval.chunk,
                   interval.begin,
                   interval.end,
                   {}};
  interval.name.copy(p.name.data(), p.name.size() - 1);
  return p;
}

}  // namespace

// The other ranks waited for the rank that waited least. Its compute is the step's, and its time in
// a collective is that of the transfer. The remaining time until the last rank is done is at_end_.
void Samples::add(const Recorder& recorder, Communicator& ranks, bool same_calls) {
  const std::vector<Recorder::Terms> all = of_all_ranks(recorder, ranks);
  double longest = 0.0;
  for (const Recorder::Terms& terms : all) longest = std::max(longest, sum_of(terms));
  Recorder::Terms busiest = *std::min_element(
      all.begin(), all.end(),
      [](const auto& a, const auto& b) { return time_with_others(a) < time_with_others(b); });
  busiest[static_cast<std::size_t>(at_end_)] += longest - sum_of(busiest);
  step_.push_back(longest);
  terms_.push_back(busiest);
  std::vector<double> own = recorder.transfer_seconds();
  transfers_.push_back(same_calls ? shortest(std::move(own), ranks) : std::move(own));
}

double drift_of(const std::vector<double>& steps) {
  const auto half = static_cast<std::ptrdiff_t>(steps.size() / 2);
  if (half < 2) return 0.0;
  const double earlier = median({steps.begin(), steps.begin() + half});
  return median({steps.end() - half, steps.end()}) / earlier - 1.0;
}

double host_time_ratio_of(const std::vector<double>& steps, const std::vector<double>& slowdowns) {
  std::vector<double> as_calibrated;
  for (std::size_t i = 0; i < steps.size(); ++i) as_calibrated.push_back(steps[i] / slowdowns[i]);
  return median(steps) / median(std::move(as_calibrated));
}

// More steps do not make a slower host as fast as it was.
bool Samples::is_noisy() const {
  Observation o;
  describe(o, 1);
  o.host_time_ratio.reset();
  return meshwright::is_noisy(o);
}

void Samples::describe(Observation& o, int passes) const {
  const auto share = [&](double time) { return seconds(time / passes); };
  o.steps = static_cast<int>(step_.size());
  o.step_time = share(median(step_));
  o.step_time_p10 = share(interpolated_quantile(step_, 0.1));
  o.step_time_p90 = share(interpolated_quantile(step_, 0.9));
  o.step_time_min = share(*std::min_element(step_.begin(), step_.end()));
  o.step_time_drift = drift_of(step_);
  if (!slowdowns_.empty() && slowdowns_.size() == step_.size()) {
    o.host_time_ratio = host_time_ratio_of(step_, slowdowns_);
    o.host_time_reference = HostTimeReference::model_step;
  }
  for (std::size_t kind = 0; kind < static_cast<std::size_t>(kNumTerms); ++kind) {
    std::vector<double> values;
    for (const Recorder::Terms& t : terms_) values.push_back(t[kind]);
    const double middle = median(std::move(values));
    if (middle > 0.0) o.terms.push_back({static_cast<TermKind>(kind), share(middle)});
  }
}

std::vector<CountedTransfer> Samples::counted(const std::vector<Transfer>& transfers,
                                              int passes) const {
  std::vector<CountedTransfer> counted;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    std::vector<double> values;
    for (const std::vector<double>& of_step : transfers_) values.push_back(of_step[i]);
    counted.push_back({transfers[i], seconds(median(std::move(values)) / passes)});
  }
  return counted;
}

std::vector<ObservedInterval> gathered_intervals(const Recorder& recorder, Communicator& ranks) {
  const auto own = static_cast<double>(recorder.intervals().size());
  const auto most = static_cast<std::size_t>(ranks.host_max(own));
  constexpr std::int32_t kNone = -1;
  std::vector<PackedInterval> mine(most, PackedInterval{kNone, 0, 0, 0.0, 0.0, {}});
  std::transform(recorder.intervals().begin(), recorder.intervals().end(), mine.begin(), packed);
  std::vector<PackedInterval> all(most * static_cast<std::size_t>(ranks.size()));
  if (most > 0) ranks.host_gather(mine.data(), all.data(), most * sizeof(PackedInterval));
  std::vector<ObservedInterval> intervals;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const PackedInterval& p = all[i];
    if (p.kind == kNone) continue;
    intervals.push_back({static_cast<int>(i / most), static_cast<TermKind>(p.kind), p.name.data(),
                         p.micro_batch, p.chunk, seconds(p.begin), seconds(p.end)});
  }
  return intervals;
}

}  // namespace meshwright::calibrate
