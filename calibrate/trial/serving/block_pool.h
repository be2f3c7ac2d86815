// SPDX-License-Identifier: Apache-2.0
// Which blocks of a paged cache a sequence has (Kwon 2023, arXiv 2309.06180, section 4.2). The host
// keeps them; every rank of a replica hands out the same ones.
#pragma once

#include <cstdint>
#include <vector>

namespace meshwright::calibrate {

// Blocks of one sequence, in the order of its positions.
using BlockTable = std::vector<std::int32_t>;

class BlockPool {
 public:
  BlockPool(std::int64_t blocks, int block_size);

  // Lets a table grow until it has room for so many tokens. The scheduler has seen to it that there
  // are blocks.
  void hold(BlockTable& table, std::int64_t tokens);
  void give_back(BlockTable& table);
  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  [[nodiscard]] int block_size() const { return block_size_; }
  [[nodiscard]] std::int64_t used() const;

 private:
  std::int64_t blocks_;
  int block_size_;
  std::vector<std::int32_t> free_;  // the next one at the end
};

}  // namespace meshwright::calibrate
