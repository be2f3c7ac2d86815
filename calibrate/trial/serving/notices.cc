// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/notices.h"

#include <algorithm>

namespace meshwright::calibrate {

Notices::Notices(Communicator& ranks, const std::vector<int>& senders) : ranks_(ranks) {
  for (const int from : senders) {
    Inbox& inbox = inboxes_.emplace_back();
    inbox.from = from;
    expect_next(inbox);
  }
}

void Notices::expect_next(Inbox& inbox) {
  inbox.receive = ranks_.start_receive({&inbox.next, Precision::fp32}, kNoticeNumbers, inbox.from);
}

void Notices::send(int to, const Notice& notice) {
  sent_.push_back(notice);
  ranks_.send({&sent_.back(), Precision::fp32}, kNoticeNumbers, to);
  for (std::size_t n = ranks_.finished_sends(); n > 0; --n) sent_.pop_front();
}

std::vector<Notice> Notices::arrived() {
  std::vector<Notice> found;
  for (Inbox& inbox : inboxes_) {
    while (inbox.open && ranks_.has_arrived(inbox.receive)) {
      if (inbox.next.kind == NoticeKind::last) {
        inbox.open = false;
        break;
      }
      found.push_back(inbox.next);
      expect_next(inbox);
    }
  }
  return found;
}

bool Notices::closed() const {
  return std::none_of(inboxes_.begin(), inboxes_.end(), [](const Inbox& i) { return i.open; });
}

void Notices::wait_sends() {
  ranks_.wait_sends();
  sent_.clear();
}

}  // namespace meshwright::calibrate
