// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/attention_reference.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace meshwright::calibrate {
namespace {

constexpr double kTermError = 0x1p-7, kRowSumError = 0x1p-8, kLeastError = 1e-6;

// A sum of terms, each of which errs by its share and by what is known of it beside.
class SumOfTerms {
 public:
  void add(double term, double more_error = 0.0) {
    value_ += term;
    error_ += kTermError * std::abs(term) + more_error;
  }
  [[nodiscard]] Expected expected() const { return {value_, error_ + kLeastError}; }

 private:
  double value_ = 0.0, error_ = 0.0;
};

}  // namespace

AttentionReference::AttentionReference(const AttentionCall& call, OperandNumber q, OperandNumber k,
                                       OperandNumber v, OperandNumber d_o)
    : call_(call), q_(std::move(q)), k_(std::move(k)), v_(std::move(v)), d_o_(std::move(d_o)) {}

std::int64_t AttentionReference::group_of(std::int64_t head) const {
  return head / (call_.heads / call_.query_groups);
}
std::int64_t AttentionReference::query_at(std::int64_t batch, std::int64_t head,
                                          std::int64_t query) const {
  return ((batch * call_.heads + head) * call_.positions + query) * call_.head_dim;
}
std::int64_t AttentionReference::key_at(std::int64_t batch, std::int64_t group,
                                        std::int64_t key) const {
  return ((batch * call_.query_groups + group) * call_.positions + key) * call_.head_dim;
}

std::vector<double> AttentionReference::probabilities(std::int64_t batch, std::int64_t head,
                                                      std::int64_t query) const {
  const std::int64_t keys = call_.causal ? query + 1 : call_.positions;
  const std::int64_t from = query_at(batch, head, query);
  std::vector<double> scores(static_cast<std::size_t>(keys), 0.0);
  for (std::int64_t key = 0; key < keys; ++key) {
    const std::int64_t at = key_at(batch, group_of(head), key);
    double sum = 0.0;
    for (std::int64_t d = 0; d < call_.head_dim; ++d) sum += q_(from + d) * k_(at + d);
    scores[static_cast<std::size_t>(key)] = static_cast<double>(call_.scale) * sum;
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double total = 0.0;
  for (double& s : scores) {
    s = std::exp(s - largest);
    total += s;
  }
  for (double& s : scores) s /= total;
  return scores;
}

Expected AttentionReference::output(std::int64_t batch, std::int64_t head, std::int64_t query,
                                    std::int64_t column) const {
  const std::vector<double> probability = probabilities(batch, head, query);
  SumOfTerms sum;
  for (std::size_t key = 0; key < probability.size(); ++key) {
    const std::int64_t at = key_at(batch, group_of(head), static_cast<std::int64_t>(key));
    sum.add(probability[key] * v_(at + column));
  }
  return sum.expected();
}

// The scores' gradient is p (dp - sum(do * o)), dp = do v^T.
AttentionReference::Row AttentionReference::row(std::int64_t batch, std::int64_t head,
                                                std::int64_t query) const {
  Row row{.probability = probabilities(batch, head, query), .gradient = {}, .gradient_error = {}};
  const std::int64_t from = query_at(batch, head, query);
  // One pass over the values: a row has as many keys as the sequence has tokens.
  std::vector<double> of_query(static_cast<std::size_t>(call_.head_dim), 0.0);
  for (std::size_t key = 0; key < row.probability.size(); ++key) {
    const std::int64_t at = key_at(batch, group_of(head), static_cast<std::int64_t>(key));
    for (std::size_t d = 0; d < of_query.size(); ++d) {
      of_query[d] += row.probability[key] * v_(at + static_cast<std::int64_t>(d));
    }
  }
  double row_sum = 0.0, magnitude = 0.0;
  for (std::size_t d = 0; d < of_query.size(); ++d) {
    const double term = d_o_(from + static_cast<std::int64_t>(d)) * of_query[d];
    row_sum += term;
    magnitude += std::abs(term);
  }
  for (std::size_t key = 0; key < row.probability.size(); ++key) {
    const std::int64_t at = key_at(batch, group_of(head), static_cast<std::int64_t>(key));
    double dp = 0.0;
    for (std::int64_t d = 0; d < call_.head_dim; ++d) dp += d_o_(from + d) * v_(at + d);
    row.gradient.push_back(row.probability[key] * (dp - row_sum));
    row.gradient_error.push_back(row.probability[key] * kRowSumError * magnitude);
  }
  return row;
}

Expected AttentionReference::query_gradient(std::int64_t batch, std::int64_t head,
                                            std::int64_t query, std::int64_t column) const {
  const Row of_query = row(batch, head, query);
  const auto scale = static_cast<double>(call_.scale);
  SumOfTerms sum;
  for (std::size_t key = 0; key < of_query.gradient.size(); ++key) {
    const std::int64_t at = key_at(batch, group_of(head), static_cast<std::int64_t>(key));
    const double factor = scale * k_(at + column);
    sum.add(factor * of_query.gradient[key], std::abs(factor) * of_query.gradient_error[key]);
  }
  return sum.expected();
}

Expected AttentionReference::last_key_gradient(std::int64_t batch, std::int64_t group,
                                               std::int64_t column) const {
  const std::int64_t last = call_.positions - 1, heads = call_.heads / call_.query_groups;
  SumOfTerms sum;
  for (std::int64_t head = group * heads; head < (group + 1) * heads; ++head) {
    const Row of_query = row(batch, head, last);
    const double factor =
        static_cast<double>(call_.scale) * q_(query_at(batch, head, last) + column);
    sum.add(factor * of_query.gradient.back(), std::abs(factor) * of_query.gradient_error.back());
  }
  return sum.expected();
}

Expected AttentionReference::last_value_gradient(std::int64_t batch, std::int64_t group,
                                                 std::int64_t column) const {
  const std::int64_t last = call_.positions - 1, heads = call_.heads / call_.query_groups;
  SumOfTerms sum;
  for (std::int64_t head = group * heads; head < (group + 1) * heads; ++head) {
    sum.add(probabilities(batch, head, last).back() * d_o_(query_at(batch, head, last) + column));
  }
  return sum.expected();
}

}  // namespace meshwright::calibrate
