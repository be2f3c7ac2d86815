// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/replica/cached_prefixes.h"

#include <algorithm>

namespace meshwright {

double CachedPrefixes::there(std::int64_t key) const {
  const auto at = contents_.find(key);
  return at == contents_.end() ? 0.0 : at->second.there;
}

void CachedPrefixes::set_used(double blocks) {
  double more = blocks - used_;
  used_ = blocks;
  if (more < 0.0) push(kNothing, 0.0, -more);
  while (more > 0.0 && !freed_.empty()) {
    Freed& next = freed_.front();
    const double taken = std::min(more, next.to - next.from);
    next.to -= taken;
    more -= taken;
    if (next.key != kNothing) {
      Content& content = contents_[next.key];
      const auto place = static_cast<std::size_t>(next.to);
      const bool is_held = place < content.holders.size() && content.holders[place] > 0;
      if (!is_held) content.there = std::min(content.there, next.to);
    }
    if (next.to <= next.from) freed_.pop_front();
  }
}

double CachedPrefixes::found(const PrefixHold& of, double most) const {
  const double alike = of.alike > 0 ? std::min<double>(of.alike, there(shared_key(of))) : 0.0;
  const double own = alike < of.alike ? 0.0 : there(own_key(of));
  return std::min(most, alike + own);
}

double CachedPrefixes::found_in_use(const PrefixHold& of, double found) const {
  const auto at = contents_.find(shared_key(of));
  if (of.alike == 0 || at == contents_.end()) return 0.0;
  const std::vector<int>& holders = at->second.holders;
  const auto end = std::min(
      {static_cast<std::size_t>(found), static_cast<std::size_t>(of.alike), holders.size()});
  return static_cast<double>(std::count_if(holders.begin(),
                                           holders.begin() + static_cast<std::ptrdiff_t>(end),
                                           [](int count) { return count > 0; }));
}

void CachedPrefixes::hold(PrefixHold& of, double found) {
  of.held_alike = static_cast<int>(std::min<double>(found, of.alike));
  if (of.held_alike > 0) {
    std::vector<int>& holders = contents_[shared_key(of)].holders;
    for (int place = 0; place < of.held_alike; ++place) {
      int& count = holders[static_cast<std::size_t>(place)];
      if (count == 0) {
        pull(shared_key(of), place);
      } else {
        ++counted_twice_;
      }
      ++count;
    }
  }
  const std::int64_t own = own_key(of);
  for (double place = of.alike; place < found; ++place) pull(own, place - of.alike);
  // What is left of the request's own blocks is behind the place where it goes on.
  contents_.erase(own);
  for (Freed& one : freed_) {
    if (one.key == own) one.key = kNothing;
  }
}

void CachedPrefixes::fill(PrefixHold& of, double whole) {
  if (of.alike == 0) return;
  Content& content = contents_[shared_key(of)];
  const double end = std::min<double>(whole, of.alike);
  // A block that another one fills as well is the request's own.
  while (of.held_alike < end && of.held_alike >= content.there) {
    content.holders.resize(static_cast<std::size_t>(of.held_alike));
    content.holders.push_back(1);
    content.there = ++of.held_alike;
  }
}

void CachedPrefixes::give_back(PrefixHold& of, double blocks, double whole) {
  const double own = std::max(0.0, whole - of.alike);
  double free = blocks - of.held_alike - own;
  push(kNothing, 0.0, free);
  if (own > 0.0) {
    push(own_key(of), 0.0, own);
    contents_[own_key(of)].there = own;
    free += own;
  }
  while (of.held_alike > 0) {
    const double place = --of.held_alike;
    int& count = contents_[shared_key(of)].holders[static_cast<std::size_t>(place)];
    if (--count > 0) {
      --counted_twice_;
    } else {
      push(shared_key(of), place, place + 1.0);
      ++free;
    }
  }
  used_ -= free;
}

void CachedPrefixes::push(std::int64_t key, double from, double to) {
  if (to <= from) return;
  if (!freed_.empty() && freed_.back().key == key) {
    Freed& last = freed_.back();
    if (key == kNothing) {
      last.to += to - from;
      return;
    }
    if (last.from == to) {
      last.from = from;
      return;
    }
  }
  freed_.push_back({key, from, to});
}

void CachedPrefixes::pull(std::int64_t key, double place) {
  const auto at = std::find_if(freed_.rbegin(), freed_.rend(), [&](const Freed& one) {
    return one.key == key && one.from <= place && place < one.to;
  });
  if (at == freed_.rend()) return;
  ++used_;
  const Freed before{key, at->from, place}, behind{key, place + 1.0, at->to};
  auto next = freed_.erase(std::prev(at.base()));
  if (before.from < before.to) next = freed_.insert(next, before);
  if (behind.from < behind.to) freed_.insert(next, behind);
}

}  // namespace meshwright
