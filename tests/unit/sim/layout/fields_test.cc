// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/fields.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/layout/layout_key.h"
#include "tests/unit/sim/layout/layout_draws.h"

namespace meshwright {
namespace {

// Does not compile when Layout has another number of fields than names here.
TEST(Fields, EveryFieldOfALayoutHasARow) {
  [[maybe_unused]] const auto [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w,
                               x, y, z, aa, ab, ac, ad, ae, af, ag, ah, ai, aj, ak, al, am, an, ao,
                               ap, aq, ar, as] = Layout{};
  EXPECT_EQ(kNumLayoutFields, 45U);
  Layout set;
  std::size_t changed = 0;
  for_each_field([&](const auto& field) {
    for (const auto value : some_values(field)) {
      if (value == Layout{}.*field.member) continue;
      changed += set.*field.member == Layout{}.*field.member ? 1U : 0U;
      set.*field.member = value;
    }
  });
  EXPECT_EQ(changed, kNumLayoutFields);
}

TEST(Fields, NamesAndOptionsAreOnesOwn) {
  std::set<std::string_view> names;
  std::size_t own_short_names = 0;
  std::size_t options = 0;
  for_each_field([&](const auto& field) {
    names.insert({field.name, field.short_name});
    if (field.short_name != field.name) ++own_short_names;
    if (field.option.empty()) return;
    names.insert(field.option);
    ++options;
  });
  EXPECT_EQ(names.size(), kNumLayoutFields + own_short_names + options);
}

TEST(Fields, DifferencesNameTheFieldsAndBothValues) {
  Layout a;
  Layout b;
  b.sequence_parallel = true;
  b.recompute_modules = {kRecomputeCoreAttention | kRecomputeMlp};
  const auto found = differences(a, b);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "sequence_parallel");
  EXPECT_EQ(found[0].short_name, "sp");
  EXPECT_EQ(found[0].a, "off");
  EXPECT_EQ(found[0].b, "on");
  EXPECT_EQ(found[1].a, "core_attn");
  EXPECT_EQ(found[1].b, "core_attn+mlp");
  EXPECT_TRUE(differences(a, a).empty());
}

template <KeyScope scope, CostPart... parts>
void expect_key_tells_apart_what_is_read(const Layout& base) {
  using Key = LayoutKey<scope, parts...>;
  for_each_field([&](const auto& field) {
    for (const auto value : some_values(field)) {
      Layout other = base;
      other.*field.member = value;
      const bool read = (field.reads(parts) || ...) && varies(field.level, scope);
      const bool same = !read || value == base.*field.member;
      EXPECT_EQ(Key(base) == Key(other), same) << field.name;
      EXPECT_EQ(Key(base).hash() == Key(other).hash(), same) << field.name;
    }
  });
}

TEST(LayoutKey, TellsApartWhatItsPartsReadAndNothingElse) {
  LayoutDraws draws;
  for (int i = 0; i < 200; ++i) {
    const Layout layout = draws.next();
    expect_key_tells_apart_what_is_read<KeyScope::any_layout, CostPart::units>(layout);
    expect_key_tells_apart_what_is_read<KeyScope::any_layout, CostPart::placement>(layout);
    expect_key_tells_apart_what_is_read<KeyScope::any_layout, CostPart::data>(layout);
    expect_key_tells_apart_what_is_read<KeyScope::parallel_sizes, CostPart::shape>(layout);
    expect_key_tells_apart_what_is_read<KeyScope::pipeline, CostPart::memory, CostPart::send>(
        layout);
  }
}

}  // namespace
}  // namespace meshwright
