// SPDX-License-Identifier: Apache-2.0
// Small messages between the first ranks of replicas. Nobody waits for one: who has something to
// say sends it, and who wants to know looks between two steps.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "calibrate/backends/communicator.h"

namespace meshwright::calibrate {

enum class NoticeKind : std::int32_t {
  asked,     // a request for the replica
  computed,  // a prompt is computed, and its cache is being sent
  ended,     // a request has its answer
  last       // there will be no other
};

// Sent as it lies in memory: all ranks are of one kind.
struct Notice {
  NoticeKind kind = NoticeKind::last;
  std::int32_t request = 0;
  std::int32_t token = 0;  // computed: the first of the answer
  std::int32_t unused = 0;
  double arrival = 0, when = 0;  // seconds: of the request, and of what is said
};
inline constexpr std::int64_t kNoticeNumbers = sizeof(Notice) / sizeof(float);
static_assert(sizeof(Notice) % sizeof(float) == 0);

class Notices {
 public:
  // `ranks` carries nothing else. `senders`: the ranks that send notices here.
  Notices(Communicator& ranks, const std::vector<int>& senders);

  void send(int to, const Notice& notice);
  // Those that came since the last call; of each sender in the order in which it sent them.
  [[nodiscard]] std::vector<Notice> arrived();
  // Every sender has sent its last one.
  [[nodiscard]] bool closed() const;
  // Until what was sent here is on its way.
  void wait_sends();

 private:
  struct Inbox {
    int from = 0;
    Notice next{};
    std::size_t receive = 0;
    bool open = true;
  };
  void expect_next(Inbox& inbox);

  Communicator& ranks_;
  std::deque<Inbox> inboxes_;  // they stay where they are
  std::deque<Notice> sent_;    // still read by the network, oldest first
};

}  // namespace meshwright::calibrate
