// SPDX-License-Identifier: Apache-2.0
#include "reports/html/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/html/label_places.h"

namespace meshwright::reports::html {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// 25 of 0 to 100 is a quarter of the way from pixel 10 to pixel 50. 10 of 1 to 100 is half of it on
// a logarithmic axis.
TEST(Plot, AxesPlaceNumbers) {
  EXPECT_DOUBLE_EQ((PlotAxis{0.0, 100.0, 10.0, 50.0}.at(25.0)), 20.0);
  EXPECT_DOUBLE_EQ((PlotAxis{1.0, 100.0, 10.0, 50.0, true}.at(10.0)), 30.0);
}

TEST(Plot, TicksAreRoundNumbers) {
  EXPECT_THAT(plot_ticks({0.0, 100.0, 0.0, 1.0}), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(plot_ticks({0.5, 2000.0, 0.0, 1.0, true}), ElementsAre(1, 10, 100, 1000));
}

TEST(Plot, NamesStayText) {
  EXPECT_THAT(plot_text(0, 0, "soft", "start", "<b>"), HasSubstr("&lt;b&gt;"));
  EXPECT_THAT(plot_box({}, paint_of("host"), "a \"b\""), HasSubstr("a &quot;b&quot;"));
}

// A line that falls to the right from (0, 0) to (200, 200), and a point at its middle. A label is
// right of the line and above it: 8 pixels right of the middle, its box 14 pixels high, ending 4
// pixels above.
TEST(LabelPlaces, APriceIsBesideItsLine) {
  LabelPlaces places(400.0);
  places.block_line(0.0, 0.0, 200.0, 200.0);
  const auto label = places.place_along(0.0, 0.0, 200.0, 200.0, "12 a day");
  ASSERT_TRUE(label);
  EXPECT_DOUBLE_EQ(label->x, 108.0);
  EXPECT_DOUBLE_EQ(label->y, 94.0);
  EXPECT_STREQ(label->anchor, "start");
}

// A mark covers the place above the middle, from (108, 82) to (161, 96). The label is below the
// line: 8 pixels left of the middle (100, 100), its base line 17 pixels below it.
TEST(LabelPlaces, ALabelCoversNoPoint) {
  LabelPlaces places(400.0);
  places.block({100.0, 50.0, 60.0, 45.0});
  const auto label = places.place_along(0.0, 0.0, 200.0, 200.0, "12 a day");
  ASSERT_TRUE(label);
  EXPECT_DOUBLE_EQ(label->x, 92.0);
  EXPECT_DOUBLE_EQ(label->y, 117.0);
  EXPECT_STREQ(label->anchor, "end");
}

TEST(LabelPlaces, WithoutRoomThereIsNoLabel) {
  LabelPlaces places(40.0);
  EXPECT_FALSE(places.place(20.0, 20.0, "wider than the chart"));
}

}  // namespace
}  // namespace meshwright::reports::html
