// SPDX-License-Identifier: Apache-2.0
// Routing of tokens, and the sums of their losses.
#include "tests/device/both_devices.h"

namespace meshwright::calibrate {
namespace {

class Router : public OnBothDevices {};

TEST_F(Router, LossesAreAddedUp) {
  expect_same([](Compute& c, Arrays& a) {
    Floats positive = values(700, 1);
    for (float& v : positive) v = 2.0F + v;
    c.add_cross_entropy(a.in(positive), a.in(values(700, 2)), a.out({3.0F}), 1.0F / 700.0F, 700);
  });
}

// Integers are compared as the numbers that they are: they are copied into rows of a table 0, 1, 2.
float* as_numbers(Compute& c, Arrays& a, const std::int32_t* integers, std::int64_t count) {
  Floats table;
  for (int i = 0; i < 4096; ++i) table.push_back(static_cast<float>(i));
  float* numbers = a.out(zeros(count));
  c.embedding_forward(integers, a.in(table), numbers, count, 0, 4096, 1);
  return numbers;
}

// 75 experts in 15 groups are more than a warp, 333 tokens more than a block.
void route(Compute& c, Arrays& a, const RouterShape& s) {
  const std::int64_t copies = s.tokens * s.topk;
  const auto integers = [&](std::int64_t count) {
    return reinterpret_cast<std::int32_t*>(a.in(zeros(count)));
  };
  std::int32_t *chosen = integers(copies), *order = integers(copies), *tokens = integers(copies);
  std::int32_t* counts = integers(s.experts);
  const float* logits = a.in(values(s.tokens * s.experts, 1, 4.0F));
  float *p = a.out(zeros(copies)), *dlogits = a.out(values(s.tokens * s.experts, 3));
  c.top_k(logits, chosen, s);
  c.chosen_softmax(logits, chosen, p, s);
  c.chosen_softmax_backward(chosen, p, a.in(values(copies, 2)), dlogits, s);
  c.order_by_expert(chosen, order, tokens, counts, s);
  as_numbers(c, a, chosen, copies);
  as_numbers(c, a, order, copies);
  as_numbers(c, a, tokens, copies);
  as_numbers(c, a, counts, s.experts);
}

TEST_F(Router, TokensAreRoutedWithAndWithoutGroups) {
  for (const std::int64_t groups : {std::int64_t{0}, std::int64_t{15}}) {
    const RouterShape shape{333, 75, 6, groups, groups == 0 ? 0 : 3};
    expect_same([&](Compute& c, Arrays& a) { route(c, a, shape); });
  }
}

TEST_F(Router, RowsOfOneNumberArePickedAndPutBack) {
  const std::vector<std::int32_t> places{4, -1, 4, 0, 8, 2};
  expect_same([&](Compute& c, Arrays& a) {
    const std::int32_t* at = a.in(places);
    c.embedding_forward(at, a.in(values(8, 1)), a.out(values(6, 2)), 6, 0, 8, 1);
    c.embedding_backward(at, a.in(values(6, 3)), a.out(values(8, 4)), 6, 0, 8, 1);
  });
}

}  // namespace
}  // namespace meshwright::calibrate
