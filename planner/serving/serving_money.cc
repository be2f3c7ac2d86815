// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/serving_money.h"

#include <cmath>

#include "planner/capacity/training_run.h"
#include "planner/search/training_cost.h"
#include "sim/base/quadrature.h"
#include "sim/base/spread.h"

namespace meshwright::planner {
namespace {

constexpr double kMillionTokens = 1e6;

// The value with the interval of two independent log-normal factors.
Ranged spread_over(double value, double deviation, const std::string& basis) {
  const double factor = std::exp(kIntervalDeviations * deviation);
  return {value, value / factor, value * factor, basis, {}};
}

// Of all GPUs, with PUE.
double kilowatts_drawn(const ServedTokens& served, const Ranged& kilowatts,
                       const PowerOptions& power, double load) {
  return served.gpus * power_at_load(kilowatts.value, waiting_over_busy(power), load) *
         power.pue.value;
}

}  // namespace

ServingMoney serving_money(const ServedTokens& served, const Ranged& price) {
  ServingMoney money;
  money.per_hour = served.gpus * price.value;
  const double a_second = money.per_hour / kSecondsPerHour;
  const double deviation = in_quadrature(log_deviation(price), served.relative_spread);
  const auto million = [&](double share, double tokens) {
    const double rate = served.requests_per_second * tokens;
    return rate > 0 ? spread_over(a_second * share / rate * kMillionTokens, deviation, price.basis)
                    : Ranged{};
  };
  money.million_input = million(served.prompt_share, served.input);
  money.million_output = million(1.0 - served.prompt_share, served.output);
  money.million_total = million(1.0, served.input + served.output);
  return money;
}

Ranged serving_energy(const ServedTokens& served, const Ranged& kilowatts,
                      const PowerOptions& power, double load) {
  const double rate = served.requests_per_second * served.output;
  if (rate <= 0) return {};
  const double drawn = kilowatts_drawn(served, kilowatts, power, load);
  const double kwh = drawn / (kSecondsPerHour * rate) * kMillionTokens;
  return spread_over(kwh, in_quadrature(log_deviation(kilowatts), served.relative_spread),
                     kilowatts.basis);
}

ServingEnergy split_energy(const ServedTokens& served, const Ranged& kilowatts,
                           const PowerOptions& power, double load) {
  const double drawn = kilowatts_drawn(served, kilowatts, power, load);
  const double own = log_deviation(kilowatts);
  const double deviation = in_quadrature(own, served.relative_spread);
  const auto million = [&](double share, double tokens) {
    const double rate = served.requests_per_second * tokens;
    return rate > 0 ? spread_over(drawn * share / (kSecondsPerHour * rate) * kMillionTokens,
                                  deviation, kilowatts.basis)
                    : Ranged{};
  };
  return {spread_over(drawn, own, kilowatts.basis), million(served.prompt_share, served.input),
          million(1.0 - served.prompt_share, served.output),
          million(1.0, served.input + served.output)};
}

double prompt_share(const Deployment& deployment, const ServiceState& state) {
  if (!deployment.prefill) return state.state.prompt_share;
  return static_cast<double>(num_gpus(*deployment.prefill)) / num_gpus(deployment);
}

}  // namespace meshwright::planner
