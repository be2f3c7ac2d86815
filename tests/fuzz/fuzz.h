// SPDX-License-Identifier: Apache-2.0
// What a reader may do with any text: return, or throw InputError with a message. Inputs that bring
// a message of a new kind are kept and changed further, also in a build without coverage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "sim/base/error.h"
#include "sim/base/utf8.h"

namespace meshwright::fuzz {

// libFuzzer takes this section's counters for coverage.
constexpr std::size_t kKinds = 512;
__attribute__((section("__libfuzzer_extra_counters"),
               used)) static volatile std::uint8_t seen[kKinds];

// Messages that differ in numbers and quoted words only are of one kind.
inline void count_kind(const std::string& message) {
  std::size_t hash = 14695981039346656037ULL;
  bool quoted = false;
  for (const char c : message) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c < '0' || c > '9'))
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  seen[hash % kKinds] = 1;
}

// Empty where a file's or argument's first check refuses it: what is not UTF-8.
inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  std::string text{reinterpret_cast<const char*>(data), size};
  return first_byte_not_utf8(text) ? std::string() : text;
}

// An InputError is an answer; whatever else leaves `read` ends the process.
template <typename Read>
void attempt(const Read& read) {
  try {
    read();
    count_kind("read");
  } catch (const InputError& error) {
    const std::string message = error.what();
    if (message.empty()) std::abort();
    count_kind(message);
  }
}

inline void must_hold(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace meshwright::fuzz
