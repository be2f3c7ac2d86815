// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/confidence.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>

#include "planner/questions/framework_scalars.h"
#include "planner/search/normal.h"
#include "sim/base/number_text.h"
#include "sim/base/quadrature.h"
#include "sim/base/text.h"
#include "sim/hardware/device.h"
#include "sim/step/step_interval.h"
#include "sim/step/terms.h"

namespace meshwright::planner {
namespace {

constexpr int kLikelySpreads = 7;  // number of equally likely spreads of the layouts' own errors

using SizeShape = std::array<int, 6>;

// Layouts with equal shapes run the same kernels and messages in this term.
SizeShape shape_of(TermKind kind, const Layout& l) {
  const int sequence = l.sequence_parallel ? 1 : 0;
  switch (kind) {
    case TermKind::forward_compute:
    case TermKind::backward_compute:
    case TermKind::recompute:
    case TermKind::pipeline_bubble:
      return {l.tensor_parallel_size, l.context_parallel_size, l.expert_parallel_size,
              expert_tensor_size(l),  l.micro_batch_size,      sequence};
    case TermKind::tensor_parallel_communication:
    case TermKind::context_parallel_communication:
    case TermKind::pipeline_communication:
      return {l.tensor_parallel_size, l.context_parallel_size, l.micro_batch_size, sequence,
              static_cast<int>(l.cp_comm_type)};
    case TermKind::expert_parallel_communication:
      return {l.tensor_parallel_size, l.context_parallel_size, l.expert_parallel_size,
              expert_tensor_size(l), l.micro_batch_size};
    case TermKind::data_parallel_communication:
    case TermKind::optimizer:
      return {l.tensor_parallel_size, l.pipeline_parallel_size,
              gradient_group_size(l), l.expert_parallel_size,
              l.zero_stage,           l.zero_shard_size};
    case TermKind::host:
    case TermKind::offload:
      break;
  }
  return {};
}

// One layout's step time as a linear function of standard normals.
struct Linear {
  const Estimate* estimate = nullptr;
  std::vector<double> shared;           // seconds a standard deviation of each input
  std::array<double, kNumTerms> own{};  // seconds a standard deviation of each term's formula
  double own_step = 0.0;                // spread of a layout's own error, relative to the step
};

double covariance(const Linear& a, const Linear& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.shared.size(); ++i) sum += a.shared[i] * b.shared[i];
  for (std::size_t k = 0; k < a.own.size(); ++k) {
    const auto kind = static_cast<TermKind>(k);
    const bool same = shape_of(kind, a.estimate->layout) == shape_of(kind, b.estimate->layout);
    if (same) sum += a.own[k] * b.own[k];
  }
  const auto compute = TermKind::forward_compute;
  const bool same = shape_of(compute, a.estimate->layout) == shape_of(compute, b.estimate->layout);
  if (same) sum += a.own_step * b.own_step;
  return sum;
}

double variance_of_difference(const Linear& a, const Linear& b) {
  return std::max(0.0, covariance(a, a) + covariance(b, b) - 2.0 * covariance(a, b));
}

// E[max(0, a - b)] of the two step times: what keeping the better saves over a.
double expected_gain(const Linear& a, const Linear& b) {
  const double gap = (b.estimate->step_time - a.estimate->step_time).value();
  return mean_shortfall(gap, std::sqrt(variance_of_difference(a, b)));
}

// The same question with one input a standard deviation up and down.
struct BothWays {
  Scenario up, down;
};

void add_measured_inputs(const Scenario& base, std::vector<BothWays>& inputs) {
  for (const WhatIfParameterText& text : all_parameters()) {
    const WhatIfParameter input = text.parameter;
    if (!changes_time(input) || relative_spread(input, base) <= 0.0) continue;
    const double share = shared_variance(provenance_of(input, base));
    const double deviation = relative_spread(input, base) * std::sqrt(share);
    inputs.push_back(
        {scaled(base, input, std::exp(deviation)), scaled(base, input, std::exp(-deviation))});
  }
}

// Software's scalars: nobody knows them better than the regime's sets share their errors.
void add_framework_scalars(const Scenario& base, std::vector<BothWays>& inputs) {
  const RegimeSpread regime = step_spread(base.cluster, base.model.moe.has_value());
  const RefitPrior prior{in_quadrature(regime.bias, regime.shared)};
  const std::vector<FrameworkScalar> scalars = all_framework_scalars();
  const std::vector<double> deviations = prior_deviations(scalars, prior);
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    if (deviations[i] <= 0.0) continue;
    const double value = start_of(scalars[i], base.cluster.framework);
    BothWays turned{base, base};
    turned.up.cluster.framework =
        with_value(base.cluster.framework, scalars[i], value * std::exp(deviations[i]));
    turned.down.cluster.framework =
        with_value(base.cluster.framework, scalars[i], value * std::exp(-deviations[i]));
    inputs.push_back(std::move(turned));
  }
}

// Computes the change of each layout's step by one standard deviation of each input, as a central
// difference.
void fill_shared(const Plan& plan, std::vector<Linear>& layouts) {
  const Scenario& base = plan;
  std::vector<BothWays> inputs;
  add_measured_inputs(base, inputs);
  add_framework_scalars(base, inputs);
  for (Linear& layout : layouts) layout.shared.resize(inputs.size());
  tbb::parallel_for(std::size_t{0}, inputs.size(), [&](std::size_t i) {
    const BothWays& turned = inputs[i];
    CostTable up_table(turned.up);
    CostTable down_table(turned.down);
    for (Linear& layout : layouts) {
      const Layout& l = layout.estimate->layout;
      const Seconds high = evaluate(up_table, l, MemoryLimit::reported).step_time;
      const Seconds low = evaluate(down_table, l, MemoryLimit::reported).step_time;
      layout.shared[i] = (high - low).value() / 2.0;
    }
  });
}

std::vector<Linear> linearised(const Plan& plan, const ConfidenceOptions& options) {
  const auto count = std::min(plan.ranked.size(), static_cast<std::size_t>(options.runner_ups) + 1);
  std::vector<Linear> layouts(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Estimate& estimate = plan.ranked[i];
    layouts[i].estimate = &estimate;
    for (const Term& term : estimate.terms) {
      layouts[i].own[static_cast<std::size_t>(term.kind)] =
          term.cost.time.value() * term.cost.relative_spread *
          std::sqrt(1.0 - shared_variance(term.cost.provenance));
    }
  }
  fill_shared(plan, layouts);
  return layouts;
}

// Two means of n runs differ by run_spread x T x sqrt(2 / n); n such that this is small beside the
// difference that is to be expected.
int runs_needed(double expected_difference, double step, const ConfidenceOptions& options) {
  const double noise = normal_quantile(options.settled) * options.run_spread * step;
  const double runs = std::ceil(2.0 * std::pow(noise / expected_difference, 2.0));
  return static_cast<int>(std::clamp(runs, 1.0, static_cast<double>(options.most_runs)));
}

AgainstRunnerUp compare_pair(const std::vector<Linear>& layouts, std::size_t rank) {
  const Linear& winner = layouts.front();
  const Linear& other = layouts[rank];
  AgainstRunnerUp result;
  result.rank = rank;
  result.difference = other.estimate->step_time - winner.estimate->step_time;
  const double deviation = std::sqrt(variance_of_difference(winner, other));
  result.deviation = seconds(deviation);
  const double gap = result.difference.value();
  result.probability_winner_is_faster =
      deviation > 0.0 ? normal_cdf(gap / deviation) : (gap > 0.0 ? 1.0 : 0.5);
  const double scale = std::sqrt(covariance(winner, winner) * covariance(other, other));
  result.correlation = scale > 0.0 ? covariance(winner, other) / scale : 1.0;
  result.expected_gain = seconds(expected_gain(winner, other));
  return result;
}

// The mean over spreads of what layouts miss each for itself; the deviation and the correlation are
// those of the spread in the middle.
AgainstRunnerUp mean_step_of(const std::vector<AgainstRunnerUp>& results) {
  AgainstRunnerUp mean = results[results.size() / 2];
  mean.probability_winner_is_faster = 0.0;
  mean.expected_gain = {};
  const auto n = static_cast<double>(results.size());
  for (const AgainstRunnerUp& result : results) {
    mean.probability_winner_is_faster += result.probability_winner_is_faster / n;
    mean.expected_gain += result.expected_gain / n;
  }
  return mean;
}

void fill_runs_to_settle(AgainstRunnerUp& result, double step, const ConfidenceOptions& options) {
  const bool open = result.probability_winner_is_faster < options.settled &&
                    result.expected_gain.value() >= options.gain_that_matters * step;
  const double expected = in_quadrature(result.difference.value(), result.deviation.value());
  if (open) result.runs_to_settle = runs_needed(expected, step, options);
}

// Own errors of this spread.
void set_own_step(std::vector<Linear>& layouts, double spread) {
  for (Linear& layout : layouts) layout.own_step = layout.estimate->step_time.value() * spread;
}

// P(no runner-up is faster) and the mean loss, over a fixed lattice of the differences' normals;
// each counts `share`.
void add_joint(const std::vector<Linear>& layouts, double share, Confidence& result) {
  const auto n = static_cast<Eigen::Index>(layouts.size()) - 1;
  if (n < 1) return;
  Eigen::VectorXd gap(n);
  Eigen::MatrixXd spread(n, n);
  const Linear& winner = layouts.front();
  const auto other = [&](Eigen::Index i) -> const Linear& {
    return layouts[static_cast<std::size_t>(i) + 1];
  };
  for (Eigen::Index i = 0; i < n; ++i) {
    gap(i) = (other(i).estimate->step_time - winner.estimate->step_time).value();
    for (Eigen::Index j = 0; j < n; ++j) {
      spread(i, j) = covariance(other(i), other(j)) - covariance(other(i), winner) -
                     covariance(winner, other(j)) + covariance(winner, winner);
    }
  }
  // Near-duplicates make the matrix singular: LDLT takes that, and what rounding left below 0 is 0.
  const Eigen::LDLT<Eigen::MatrixXd> ldlt(spread);
  const Eigen::VectorXd pivots = ldlt.vectorD().cwiseMax(0.0).cwiseSqrt();
  const Eigen::MatrixXd lower = ldlt.matrixL();
  const Eigen::MatrixXd factor =
      ldlt.transpositionsP().transpose() * Eigen::MatrixXd(lower * pivots.asDiagonal());
  const double step = winner.estimate->step_time.value();
  double wins = 0.0;
  double lost = 0.0;
  const NormalLattice lattice(static_cast<int>(n));
  Eigen::VectorXd point(n);
  for (int k = 0; k < lattice.size(); ++k) {
    for (Eigen::Index d = 0; d < n; ++d) point(d) = lattice.coordinate(k, static_cast<int>(d));
    const double smallest = (gap + factor * point).minCoeff();
    if (smallest >= 0.0) wins += 1.0;
    lost += std::max(0.0, -smallest);
  }
  result.probability_best += share * wins / lattice.size();
  result.expected_regret += share * lost / lattice.size() / step;
}

// Runner-ups whose question is open, the most promising first. One that can hardly beat another
// that is run anyway is not run: the other answers for it.
void propose(const std::vector<Linear>& layouts, const ConfidenceOptions& options,
             Confidence& result) {
  std::vector<AgainstRunnerUp> open;
  for (const AgainstRunnerUp& a : result.against) {
    if (a.runs_to_settle > 0) open.push_back(a);
  }
  std::stable_sort(open.begin(), open.end(),
                   [](const AgainstRunnerUp& a, const AgainstRunnerUp& b) {
                     return a.expected_gain > b.expected_gain;
                   });
  const double step = layouts.front().estimate->step_time.value();
  int most = 0;
  for (const AgainstRunnerUp& a : open) {
    const bool answered = std::any_of(result.proposed_runs.begin(), result.proposed_runs.end(),
                                      [&](const ProposedRun& run) {
                                        return expected_gain(layouts[run.rank], layouts[a.rank]) <
                                               options.gain_that_matters * step;
                                      });
    if (answered) continue;
    most = std::max(most, a.runs_to_settle);
    result.proposed_runs.push_back(
        {a.rank, a.runs_to_settle,
         fmt::format(
             "faster than layout #1 with {:.0f} % probability; keeping the better one saves "
             "{} % of a step on average",
             100.0 * (1.0 - a.probability_winner_is_faster),
             number_text(100.0 * a.expected_gain.value() / step, 2))});
  }
  if (most == 0) return;
  result.proposed_runs.insert(result.proposed_runs.begin(),
                              {0, most, "the best layout, with which the others are compared"});
}

}  // namespace

double shared_variance(Provenance provenance) {
  constexpr double kOfPoints = 0.5;
  constexpr double kOfNobody = 0.9;
  return provenance <= Provenance::fitted ? kOfPoints : kOfNobody;
}

namespace {

// Layouts up to the last that could win. Each is asked alone, so that their number does not matter.
void keep_contenders(std::vector<Linear>& layouts, double could_win) {
  const auto chance = [&](std::size_t rank) {
    return 1.0 - compare_pair(layouts, rank).probability_winner_is_faster;
  };
  while (layouts.size() > 1 && chance(layouts.size() - 1) < could_win) layouts.pop_back();
}

}  // namespace

std::string sentence_of(const Confidence& confidence, const ConfidenceOptions& options) {
  if (confidence.against.empty()) return "";
  constexpr std::size_t kNamed = 5;
  std::size_t ties = 0;
  std::string named;
  for (const AgainstRunnerUp& a : confidence.against) {
    if (1.0 - a.probability_winner_is_faster < kTies) continue;
    if (++ties <= kNamed) append_to_list(named, ", ", fmt::format("#{}", a.rank + 1));
  }
  const bool settled = confidence.expected_regret < options.gain_that_matters;
  std::string text = fmt::format(
      "{}. Layout #1 is the fastest of {} contenders with {:.0f} % probability. Choosing it costs "
      "{} "
      "% of a step on average.",
      settled ? "Settled" : "Open", confidence.against.size() + 1,
      100.0 * confidence.probability_best, number_text(100.0 * confidence.expected_regret, 2));
  if (ties == 0) return text;
  if (ties > kNamed) named += fmt::format(" and {} more", ties - kNamed);
  return text + fmt::format(" {} {} with it: {} faster with {:.0f} % probability or more.",
                            ties == 1 ? "Layout " + named : "Layouts " + named,
                            ties == 1 ? "ties" : "tie", ties == 1 ? "it is" : "each is",
                            100.0 * kTies);
}

Confidence confidence(const Plan& plan, const ConfidenceOptions& options) {
  Confidence result;
  if (plan.ranked.empty()) return result;
  std::vector<Linear> layouts = linearised(plan, options);
  const RegimeSpread regime = step_spread(plan.cluster, plan.model.moe.has_value());
  const std::vector<double> spreads =
      likely_spreads(regime.between_layouts, regime.between_degrees, kLikelySpreads);
  set_own_step(layouts, spreads[spreads.size() / 2]);
  keep_contenders(layouts, options.could_win);
  std::vector<std::vector<AgainstRunnerUp>> compared(layouts.size());
  if (layouts.size() > 1) result.probability_best = 0.0;
  for (const double spread : spreads) {
    set_own_step(layouts, spread);
    for (std::size_t i = 1; i < layouts.size(); ++i)
      compared[i].push_back(compare_pair(layouts, i));
    add_joint(layouts, 1.0 / static_cast<double>(spreads.size()), result);
  }
  set_own_step(layouts, spreads[spreads.size() / 2]);
  const Linear& winner = layouts.front();
  const double step = winner.estimate->step_time.value();
  result.relative_deviation = std::sqrt(covariance(winner, winner)) / step;
  for (std::size_t i = 1; i < layouts.size(); ++i) {
    result.against.push_back(mean_step_of(compared[i]));
    fill_runs_to_settle(result.against.back(), step, options);
  }
  propose(layouts, options, result);
  return result;
}

}  // namespace meshwright::planner
