// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/stage/message_order.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace meshwright::calibrate {
namespace {

using ::testing::ElementsAre;
using Groups = std::vector<std::vector<MessageGroup>>;  // of each stage

// Stages whose calls queue: a stage's next group starts when the one before is over, and a group is
// over when the other side of each of its messages has started.
class Queues {
 public:
  explicit Queues(const Groups& groups) : groups_(groups), next_(groups.size()) {}

  // False where stages wait for each other for ever.
  bool run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < groups_.size(); ++s) moved = go_on(s) || moved;
    }
    for (std::size_t s = 0; s < groups_.size(); ++s) {
      if (next_[s] < groups_[s].size()) return false;
    }
    return true;
  }

 private:
  bool go_on(std::size_t stage) {
    if (next_[stage] == groups_[stage].size()) return false;
    for (const StageMessage& m : groups_[stage][next_[stage]].messages) {
      const int peer = m.from == static_cast<int>(stage) ? m.to : m.from;
      if (!started(static_cast<std::size_t>(peer), m)) return false;
    }
    ++next_[stage];
    return true;
  }
  [[nodiscard]] bool started(std::size_t stage, const StageMessage& message) const {
    for (std::size_t g = 0; g <= next_[stage] && g < groups_[stage].size(); ++g) {
      const auto& messages = groups_[stage][g].messages;
      if (std::find(messages.begin(), messages.end(), message) != messages.end()) return true;
    }
    return false;
  }

  const Groups& groups_;
  std::vector<std::size_t> next_;
};

struct Pipeline {
  PipelineSchedule schedule;
  int stages, micro_batches, chunks;
  [[nodiscard]] std::vector<StageProgram> programs() const {
    return pipeline_programs(schedule, {stages, micro_batches, chunks});
  }
};

std::vector<Pipeline> pipelines() {
  std::vector<Pipeline> all;
  for (const ScheduleTraits* t : pipeline_schedules) {
    const int chunks = t->most_chunks > 1 ? 2 : 1;
    for (int p = 2; p <= 6; p += t->stages_multiple_of) {
      for (const int more : {0, p, 3 * p}) {
        all.push_back({t->schedule, p, std::max(p, t->fewest_micro_batches.of(p)) + more, chunks});
      }
    }
  }
  all.push_back({PipelineSchedule::interleaved, 4, 8, 3});
  return all;
}

std::vector<StageMessage> between(const std::vector<MessageGroup>& groups, int from, int to) {
  std::vector<StageMessage> list;
  for (const MessageGroup& group : groups) {
    for (const StageMessage& m : group.messages) {
      if (m.from == from && m.to == to) list.push_back(m);
    }
  }
  return list;
}

// 1F1B of two stages and two micro-batches, F and its two gradients 1 each, a backward 2:
// stage 0: F0 0-1, F1 1-2, B0 4-6, B1 7-9. Stage 1: F0 1-2, B0 2-4, F1 4-5, B1 5-7.
// At 1 the first activation goes, at 2 the second, while stage 1 has not begun its B0 yet; at 4 and
// at 7 the gradients come.
TEST(MessageOrder, TwoStagesOfOneFOneB) {
  const Pipeline pipeline{PipelineSchedule::one_f_one_b, 2, 2, 1};
  const Groups groups = message_groups(pipeline.schedule, pipeline.programs(), 1);
  const auto places = [&](int stage) {
    std::vector<std::size_t> before;
    for (const MessageGroup& g : groups[static_cast<std::size_t>(stage)]) {
      before.push_back(g.before);
    }
    return before;
  };
  EXPECT_THAT(places(0), ElementsAre(1, 2, 2, 3));
  EXPECT_THAT(places(1), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(groups[0][2].messages,
              ElementsAre(StageMessage{.from = 1, .to = 0, .forward = false}));
}

TEST(MessageOrder, NoScheduleWaitsForEver) {
  for (const Pipeline& p : pipelines()) {
    EXPECT_TRUE(Queues(message_groups(p.schedule, p.programs(), p.chunks)).run())
        << name_of(p.schedule) << " p" << p.stages << " m" << p.micro_batches;
  }
}

TEST(MessageOrder, BothSidesListTheSameMessagesInTheSameOrder) {
  for (const Pipeline& p : pipelines()) {
    const Groups groups = message_groups(p.schedule, p.programs(), p.chunks);
    for (int from = 0; from < p.stages; ++from) {
      for (int to = 0; to < p.stages; ++to) {
        EXPECT_EQ(between(groups[static_cast<std::size_t>(from)], from, to),
                  between(groups[static_cast<std::size_t>(to)], from, to))
            << name_of(p.schedule) << " p" << p.stages << " m" << p.micro_batches;
      }
    }
  }
}

// A result does not leave before its instruction, and an instruction's input has arrived.
TEST(MessageOrder, ResultsLeaveWhenTheyAreMadeAndArriveBeforeTheyAreNeeded) {
  for (const Pipeline& p : pipelines()) {
    SCOPED_TRACE(fmt::format("{} p{} m{}", name_of(p.schedule), p.stages, p.micro_batches));
    const auto programs = p.programs();
    const StageMessages messages(p.schedule, p.stages, p.chunks);
    const Groups groups = message_groups(p.schedule, programs, p.chunks);
    for (int stage = 0; stage < p.stages; ++stage) {
      const auto s = static_cast<std::size_t>(stage);
      std::set<StageMessage> made, arrived;
      auto group = groups[s].begin();
      const auto post = [&](std::size_t before) {
        for (; group != groups[s].end() && group->before == before; ++group) {
          for (const StageMessage& m : group->messages) {
            if (m.to == stage) {
              arrived.insert(m);
            } else {
              EXPECT_EQ(made.erase(m), 1U);
            }
          }
        }
      };
      for (std::size_t i = 0; i < programs[s].size(); ++i) {
        post(i);
        const auto needed = messages.into(stage, programs[s][i]);
        if (needed && needed->from != stage) {
          EXPECT_EQ(arrived.erase(*needed), 1U);
        }
        const auto result = messages.out_of(stage, programs[s][i]);
        if (result && result->to != stage) made.insert(*result);
      }
      post(programs[s].size());
      EXPECT_TRUE(made.empty());
      EXPECT_TRUE(arrived.empty());
      EXPECT_EQ(group, groups[s].end());
    }
  }
}

// One message after the other, where the program makes or needs it: stages of a circle wait for
// each other, and the queues above notice it.
TEST(MessageOrder, MessagesInTheProgramsOwnOrderWaitForEver) {
  const Pipeline p{PipelineSchedule::interleaved, 4, 8, 2};
  const auto programs = p.programs();
  const StageMessages messages(p.schedule, p.stages, p.chunks);
  Groups groups(programs.size());
  for (std::size_t s = 0; s < programs.size(); ++s) {
    for (std::size_t i = 0; i < programs[s].size(); ++i) {
      const int stage = static_cast<int>(s);
      if (const auto m = messages.into(stage, programs[s][i])) groups[s].push_back({i, {*m}});
      if (const auto m = messages.out_of(stage, programs[s][i])) groups[s].push_back({i + 1, {*m}});
    }
  }
  EXPECT_FALSE(Queues(groups).run());
}

}  // namespace
}  // namespace meshwright::calibrate
