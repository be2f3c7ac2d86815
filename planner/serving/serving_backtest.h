// SPDX-License-Identifier: Apache-2.0
// Published points of services, predicted and compared: each is simulated as its benchmark ran it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "planner/serving/deployment.h"

namespace meshwright::planner {

// What a point may tell, and what a backtest compares.
enum class ServingQuantity {
  tpot_mean,
  tpot_p99,
  ttft_mean,
  ttft_p50,
  ttft_p99,
  itl_mean,
  e2e_mean,
  output_tps,  // tokens per second of the whole deployment
  kv_tokens    // that the cache of one attention group holds
};
inline constexpr std::array kServingQuantityNames{
    EnumName{ServingQuantity::tpot_mean, "tpot_mean"},
    EnumName{ServingQuantity::tpot_p99, "tpot_p99"},
    EnumName{ServingQuantity::ttft_mean, "ttft_mean"},
    EnumName{ServingQuantity::ttft_p50, "ttft_p50"},
    EnumName{ServingQuantity::ttft_p99, "ttft_p99"},
    EnumName{ServingQuantity::itl_mean, "itl_mean"},
    EnumName{ServingQuantity::e2e_mean, "e2e_mean"},
    EnumName{ServingQuantity::output_tps, "output_tps"},
    EnumName{ServingQuantity::kv_tokens, "kv_tokens"}};
constexpr std::string_view name_of(ServingQuantity v) { return name_in(kServingQuantityNames, v); }
inline constexpr std::size_t kNumServingQuantities = kServingQuantityNames.size();
// Its place in values of all quantities.
constexpr std::size_t place_of(ServingQuantity quantity) {
  return static_cast<std::size_t>(quantity);
}
// Seconds, tokens per second, or tokens; none: not told, or without meaning under that load.
using ServingValues = std::array<std::optional<double>, kNumServingQuantities>;

struct MeasuredService {
  std::string id{}, group{}, source{};
  std::string model{}, gpu{}, engine{}, engine_version{};
  // Shared: many points have one model, cluster and engine.
  std::shared_ptr<const ServingScenario> scenario{};
  Deployment deployment{};  // options with defaults
  ServingLoad load{};
  bool speculation_unknown = false;
  std::vector<std::string> assumed{};  // what the point does not say
  ServingValues measured{};
};

// A row that could not become one, and why.
struct UnreadService {
  std::string id{}, reason{};
  int line = 0;
};
struct MeasuredServices {
  std::string name{};
  std::vector<MeasuredService> points{};
  std::vector<UnreadService> unread{};
};

struct PredictedService {
  ServingValues values{};
  std::array<double, kNumServingQuantities> spread{};  // relative standard deviations
  double largest_batch = 0;                            // of one attention group
  std::optional<ServingViolation> refused{};           // by the engine's rules
};
// `simulates`: as the benchmark ran; else the closed form.
PredictedService predicted(const MeasuredService& point, bool simulates);
std::vector<PredictedService> predicted(const MeasuredServices& set, bool simulates);

// Errors of one quantity: predicted / measured - 1.
struct ServingScore {
  std::string group{};
  ServingQuantity quantity = ServingQuantity::tpot_mean;
  int points = 0;
  double median = 0, mean = 0, p90 = 0;  // of the absolute error
  double bias = 0;                       // median of the error
  double covered = 0;                    // share inside the 90 % interval
};
std::vector<ServingScore> serving_scores(const MeasuredServices& set,
                                         const std::vector<PredictedService>& predictions,
                                         bool by_group);
// The end of the 90 % interval as a factor on the prediction.
double interval_factor(double spread);

// Layouts of the same group, lengths and users for each GPU or node: was the fastest found, and
// what does the found one lose.
struct LayoutChoice {
  std::string group{};
  int layouts = 0;
  std::string best{}, chosen{};
  double regret = 0;  // measured throughput a GPU of the best over that of the chosen, less 1
};
std::vector<LayoutChoice> layout_choices(const MeasuredServices& set,
                                         const std::vector<PredictedService>& predictions);

}  // namespace meshwright::planner
