// SPDX-License-Identifier: Apache-2.0
// What parts of the cost read of a layout, packed into a few words: layouts with the same key have
// the same cost. Which fields those are stands in fields.h, so that no cache has a list of its own.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "sim/base/hash.h"
#include "sim/layout/fields.h"

namespace meshwright {

// Fields that are equal in all layouts of a cache, so its keys omit them. Within the parallel sizes
// or a pipeline setting of a search, the data-parallel side also has its defaults.
enum class KeyScope { any_layout, parallel_sizes, pipeline };

constexpr bool varies(SearchLevel level, KeyScope scope) {
  switch (level) {
    case SearchLevel::parallel_sizes:
    case SearchLevel::data:
      return scope == KeyScope::any_layout;
    case SearchLevel::pipeline:
      return scope != KeyScope::pipeline;
    case SearchLevel::stage:
    case SearchLevel::not_searched:
      return true;
  }
  return true;
}

// Sizes keep all their bits, so that different values never meet in a key.
template <typename T>
constexpr unsigned packed_bits(const Field<T>& field) {
  return static_cast<unsigned>(std::bit_width(field.values.names.size() - 1));
}
constexpr unsigned packed_bits(const Field<int>& /*field*/) { return 32; }
constexpr unsigned packed_bits(const Field<bool>& /*field*/) { return 1; }
template <typename Module>
constexpr unsigned packed_bits(const Field<ModuleSet<Module>>& /*field*/) {
  return 8;
}
constexpr unsigned packed_bits(const Field<RankOrder>& /*field*/) { return 15; }
constexpr unsigned packed_bits(const Field<PipelineLayout>& /*field*/) { return 32; }

template <typename T>
constexpr std::uint64_t packed(T value) {
  return static_cast<std::uint32_t>(value);
}
template <typename Module>
constexpr std::uint64_t packed(ModuleSet<Module> modules) {
  return modules.bits;
}
constexpr std::uint64_t packed(const RankOrder& order) {
  std::uint64_t word = 0;
  for (const Axis axis : order) word = word << 3U | static_cast<std::uint64_t>(axis);
  return word;
}
inline std::uint64_t packed(PipelineLayout layout) { return layout.id(); }

// Where each field stands in the words of a key.
struct KeyPlan {
  struct Place {
    unsigned word, shift;
    bool used;
  };
  std::array<Place, kNumLayoutFields> places{};
  unsigned words = 1;
};
template <KeyScope scope, CostPart... parts>
constexpr KeyPlan key_plan() {
  KeyPlan plan;
  std::size_t index = 0;
  unsigned filled = 0;
  for_each_field([&](const auto& field) {
    KeyPlan::Place& place = plan.places[index++];
    place.used = (field.reads(parts) || ...) && varies(field.level, scope);
    if (!place.used) return;
    if (filled + packed_bits(field) > 64) {
      ++plan.words;
      filled = 0;
    }
    place.word = plan.words - 1;
    place.shift = filled;
    filled += packed_bits(field);
  });
  return plan;
}

template <KeyScope scope, CostPart... parts>
class LayoutKey {
  static constexpr KeyPlan kPlan = key_plan<scope, parts...>();

 public:
  explicit LayoutKey(const Layout& layout) {
    add(layout, std::make_index_sequence<kNumLayoutFields>{});
  }
  bool operator==(const LayoutKey&) const = default;
  [[nodiscard]] constexpr std::size_t hash(std::size_t start = kHashStart) const {
    for (const std::uint64_t word : words_) start = mixed(start, word);
    return finished(start);
  }

 private:
  template <std::size_t... index>
  void add(const Layout& layout, std::index_sequence<index...> /*all*/) {
    (add<index>(layout), ...);
  }
  template <std::size_t index>
  void add(const Layout& layout) {
    constexpr KeyPlan::Place kPlace = kPlan.places[index];
    if constexpr (kPlace.used) {
      words_[kPlace.word] |= packed(layout.*std::get<index>(kLayoutFields).member) << kPlace.shift;
    }
  }

  std::array<std::uint64_t, kPlan.words> words_{};
};

struct LayoutKeyHash {
  template <typename Key>
  std::size_t operator()(const Key& key) const {
    return key.hash();
  }
};

}  // namespace meshwright
