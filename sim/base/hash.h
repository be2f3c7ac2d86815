// SPDX-License-Identifier: Apache-2.0
// FNV-1a (Fowler, Noll, Vo) over words instead of bytes: the hash of every cache's keys.
#pragma once

#include <cstdint>

namespace meshwright {

inline constexpr std::uint64_t kHashStart = 14695981039346656037ULL;

// The high half is folded in, since small numbers are told apart by the low one alone.
constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  return (hash ^ (word ^ word >> 32U)) * 1099511628211ULL;
}
// The last step: tables look at the low bits.
constexpr std::uint64_t finished(std::uint64_t hash) { return hash ^ (hash >> 29U); }

}  // namespace meshwright
