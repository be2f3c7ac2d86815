// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/block_pool.h"

#include <numeric>

#include "sim/base/error.h"

namespace meshwright::calibrate {

BlockPool::BlockPool(std::int64_t blocks, int block_size)
    : blocks_(blocks), block_size_(block_size), free_(static_cast<std::size_t>(blocks)) {
  std::iota(free_.rbegin(), free_.rend(), 0);
}

void BlockPool::hold(BlockTable& table, std::int64_t tokens) {
  const std::int64_t needed = (tokens + block_size_ - 1) / block_size_;
  while (static_cast<std::int64_t>(table.size()) < needed) {
    invariant(!free_.empty(), "a scheduled token has a block of the cache");
    table.push_back(free_.back());
    free_.pop_back();
  }
}

void BlockPool::give_back(BlockTable& table) {
  free_.insert(free_.end(), table.rbegin(), table.rend());
  table.clear();
}

std::int64_t BlockPool::used() const { return blocks_ - static_cast<std::int64_t>(free_.size()); }

}  // namespace meshwright::calibrate
