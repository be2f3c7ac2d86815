// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/layer_pattern.h"

#include <cctype>

namespace meshwright::interop {
namespace {

constexpr std::size_t kMostLayers = 100'000;

class Pattern {
 public:
  explicit Pattern(const std::string& text) : text_(text) {}
  std::optional<std::vector<int>> read() {
    auto list = sum();
    return ok_ && at_ == text_.size() ? std::optional(list) : std::nullopt;
  }

 private:
  std::vector<int> sum() {
    std::vector<int> list = product();
    while (ok_ && next('+')) {
      const std::vector<int> more = product();
      list.insert(list.end(), more.begin(), more.end());
      check(list.size());
    }
    return list;
  }
  std::vector<int> product() {
    std::vector<int> list = atom();
    while (ok_ && next('*')) {
      const std::size_t times = number();
      check(list.size() * times);
      std::vector<int> all;
      for (std::size_t i = 0; ok_ && i < times; ++i)
        all.insert(all.end(), list.begin(), list.end());
      list = all;
    }
    return list;
  }
  std::vector<int> atom() {
    check(static_cast<std::size_t>(++depth_) * 1000);
    std::vector<int> list;
    if (next('(')) {
      list = sum();
      ok_ = next(')') && ok_;
    } else if (next('[')) {
      do list.push_back(static_cast<int>(number()));
      while (ok_ && next(','));
      ok_ = next(']') && ok_;
    } else {
      ok_ = false;
    }
    --depth_;
    return list;
  }
  std::size_t number() {
    std::size_t value = 0;
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      value = 10 * value + static_cast<std::size_t>(text_[at_++] - '0');
      check(value);
    }
    ok_ = ok_ && at_ > begin;
    return ok_ ? value : 0;
  }
  bool next(char c) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void check(std::size_t size) { ok_ = ok_ && size <= kMostLayers; }

  const std::string& text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool ok_ = true;
};

}  // namespace

std::optional<std::vector<int>> layer_pattern(const std::string& text) {
  return Pattern(text).read();
}

}  // namespace meshwright::interop
