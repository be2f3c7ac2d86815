// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/pipeline_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace meshwright {
namespace {

PipelineLayout read_list(std::string_view text) {
  const auto found = read_pipeline_layout(text);
  EXPECT_TRUE(std::holds_alternative<PipelineLayout>(found)) << std::get<std::string>(found);
  return std::get<PipelineLayout>(found);
}
std::string wrong(std::string_view text) {
  const auto found = read_pipeline_layout(text);
  return std::holds_alternative<std::string>(found) ? std::get<std::string>(found) : "";
}

// DeepSeek-V3 in Megatron-LM's documentation: 3 + 29 x 2 = 61 layers in 1 + 29 + 2 = 32 chunks.
TEST(PipelineLayout, ReadsTheDocumentationsExample) {
  const PipelineLayout list = read_list("Et*3|(tt|)*29,m|L");
  ASSERT_EQ(list.num_chunks(), 32);
  EXPECT_EQ(list.chunks()[0], (ChunkItems{.embedding = true, .num_layers = 3}));
  EXPECT_EQ(list.chunks()[1], (ChunkItems{.num_layers = 2}));
  EXPECT_EQ(list.chunks()[29], (ChunkItems{.num_layers = 2}));
  EXPECT_EQ(list.chunks()[30], (ChunkItems{.mtp_num_layers = 1}));
  EXPECT_EQ(list.chunks()[31], (ChunkItems{.loss = true}));
  EXPECT_EQ(list.text(), "Et*3|(tt|)*29m|L");
}

TEST(PipelineLayout, WritesRecipesAsTheyStand) {
  for (const std::string_view text : {"Et|(tt|)*30mL", "Et*4|(t*4|)*14tmL", "Et|(tt|)*30L",
                                      "Et*4|(t*4|)*14tL", "EtL", "none", "E|(|)*3t|L", "Etmm|L"}) {
    EXPECT_EQ(read_list(text).text(), text);
  }
}

TEST(PipelineLayout, NoneIsTheDefaultAndHoldsNothing) {
  EXPECT_EQ(read_list("none"), PipelineLayout());
  EXPECT_FALSE(PipelineLayout());
  EXPECT_TRUE(PipelineLayout().chunks().empty());
  EXPECT_EQ(PipelineLayout().id(), 0U);
}

// However it is written, a list is one value; another is another.
TEST(PipelineLayout, EqualListsAreEqualHandles) {
  EXPECT_EQ(read_list("Ettt|tt|tt|L"), read_list("Et*3|(t*2|)*2,L"));
  EXPECT_EQ(read_list("Ett|ttL").id(), read_list("E(t)*2|(t*2)*1L").id());
  EXPECT_NE(read_list("Ett|ttL"), read_list("Et|t*3L"));
  EXPECT_NE(read_list("Ett|ttL").id(), read_list("Et|t*3L").id());
}

TEST(PipelineLayout, ReadsWhatItWrites) {
  std::mt19937 random(7);
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  for (int i = 0; i < 500; ++i) {
    std::vector<ChunkItems> chunks(1 + random() % 12);
    for (ChunkItems& chunk : chunks) chunk.num_layers = below(3) == 0 ? below(12) : 2;
    chunks.front().embedding = true;
    chunks.back().mtp_num_layers = below(3);
    chunks.back().loss = true;
    const PipelineLayout list = PipelineLayout::of(chunks);
    EXPECT_EQ(read_list(list.text()), list) << list.text();
    EXPECT_TRUE(std::equal(chunks.begin(), chunks.end(), list.chunks().begin()));
  }
}

TEST(PipelineLayout, SaysWhatIsWrongAndWhere) {
  using testing::HasSubstr;
  EXPECT_THAT(wrong("Et|x|L"),
              HasSubstr("'x' is none of E, t, m, L, |, x*n and (..)*n at position 4"));
  EXPECT_THAT(wrong("Et*|L"), HasSubstr("'*' needs a whole number from 1 at position 3"));
  EXPECT_THAT(wrong("Et*0|L"), HasSubstr("'*' needs a whole number from 1 at position 3"));
  EXPECT_THAT(wrong("E(t|L"), HasSubstr("a '(' without its ')' at position 2"));
  EXPECT_THAT(wrong("E(t|)L"), HasSubstr("a group needs its *n at position 6"));
  EXPECT_THAT(wrong("E((t|)*2)*2L"), HasSubstr("a group inside a group at position 3"));
  EXPECT_THAT(wrong("E()*2L"), HasSubstr("a group of nothing at position 2"));
  EXPECT_THAT(wrong("E(t*1000)*1000L"), HasSubstr("more than 100000 items"));
}

// Megatron-LM's validate_layer_layout: embedding first, loss last, each once; m after every t.
TEST(PipelineLayout, RefusesItemsInTheWrongOrder) {
  using testing::HasSubstr;
  EXPECT_THAT(wrong("tE|L"), HasSubstr("E must be the first item, at position 1"));
  EXPECT_THAT(wrong("|EtL"), HasSubstr("E must be the first item, at position 1"));
  EXPECT_THAT(wrong("Et|EtL"), HasSubstr("a second E, at position 4"));
  EXPECT_THAT(wrong("EtL|t"), HasSubstr("L must be the last item, at position 4"));
  EXPECT_THAT(wrong("Etm|tL"), HasSubstr("decoder layers must stand before m, at position 5"));
  EXPECT_THAT(wrong("Et|t"), HasSubstr("the last item must be L"));
  EXPECT_THAT(wrong(""), HasSubstr("the last item must be L"));
}

}  // namespace
}  // namespace meshwright
