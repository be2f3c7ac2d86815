// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/replica/cached_prefixes.h"

#include <algorithm>

namespace meshwright {

double CachedPrefixes::cached_blocks(std::int64_t key) const {
  const auto at = contents_.find(key);
  return at == contents_.end() ? 0.0 : at->second.cached;
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
      if (!is_held) content.cached = std::min(content.cached, next.to);
    }
    if (next.to <= next.from) freed_.pop_front();
  }
}

double CachedPrefixes::found(const PrefixHold& of, double most) const {
  const double shared =
      of.shared > 0 ? std::min<double>(of.shared, cached_blocks(shared_key(of))) : 0.0;
  const double own = shared < of.shared ? 0.0 : cached_blocks(own_key(of));
  return std::min(most, shared + own);
}

double CachedPrefixes::found_in_use(const PrefixHold& of, double found) const {
  const auto at = contents_.find(shared_key(of));
  if (of.shared == 0 || at == contents_.end()) return 0.0;
  const std::vector<int>& holders = at->second.holders;
  const auto end = std::min(
      {static_cast<std::size_t>(found), static_cast<std::size_t>(of.shared), holders.size()});
  return static_cast<double>(std::count_if(holders.begin(),
                                           holders.begin() + static_cast<std::ptrdiff_t>(end),
                                           [](int count) { return count > 0; }));
}

void CachedPrefixes::hold(PrefixHold& of, double found) {
  of.held_shared = static_cast<int>(std::min<double>(found, of.shared));
  if (of.held_shared > 0) {
    std::vector<int>& holders = contents_[shared_key(of)].holders;
    for (int place = 0; place < of.held_shared; ++place) {
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
  for (double place = of.shared; place < found; ++place) pull(own, place - of.shared);
  // What is left of the request's own blocks is behind the place where it goes on.
  contents_.erase(own);
  for (Freed& one : freed_) {
    if (one.key == own) one.key = kNothing;
  }
}

void CachedPrefixes::fill(PrefixHold& of, double whole) {
  if (of.shared == 0) return;
  Content& content = contents_[shared_key(of)];
  const double end = std::min<double>(whole, of.shared);
  // A block that another one fills as well is the request's own.
  while (of.held_shared < end && of.held_shared >= content.cached) {
    content.holders.resize(static_cast<std::size_t>(of.held_shared));
    content.holders.push_back(1);
    content.cached = ++of.held_shared;
  }
}

void CachedPrefixes::give_back(PrefixHold& of, double blocks, double whole) {
  const double own = std::max(0.0, whole - of.shared);
  double free = blocks - of.held_shared - own;
  push(kNothing, 0.0, free);
  if (own > 0.0) {
    push(own_key(of), 0.0, own);
    contents_[own_key(of)].cached = own;
    free += own;
  }
  while (of.held_shared > 0) {
    const double place = --of.held_shared;
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
