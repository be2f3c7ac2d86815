// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/pipeline_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace meshwright {

struct PipelineLayout::List {
  std::vector<ChunkItems> chunks;
  std::string text;
  std::uint32_t id = 0;
};

namespace {

constexpr std::string_view kNone = "none";
constexpr std::size_t kMostItems = 100'000;

std::string repeated(std::string_view item, int times) {
  return times > 2    ? fmt::format("{}*{}", item, times)
         : times == 2 ? fmt::format("{0}{0}", item)
         : times == 1 ? std::string(item)
                      : "";
}

std::string text_of(const ChunkItems& chunk) {
  return fmt::format("{}{}{}{}", chunk.embedding ? "E" : "", repeated("t", chunk.num_layers),
                     repeated("m", chunk.mtp_num_layers), chunk.loss ? "L" : "");
}

// The last chunk has no border after it, so that it stands alone.
std::string text_of(const std::vector<ChunkItems>& chunks) {
  std::string text;
  for (std::size_t begin = 0; begin + 1 < chunks.size();) {
    std::size_t end = begin + 1;
    while (end + 1 < chunks.size() && chunks[end] == chunks[begin]) ++end;
    const std::string chunk = text_of(chunks[begin]) + "|";
    const auto times = end - begin;
    text += times == 1 ? chunk : fmt::format("({})*{}", chunk, times);
    begin = end;
  }
  return text + text_of(chunks.back());
}

struct Item {
  char letter = '|';
  std::size_t at = 0;  // place in the text, from 1
};

// Writes the repetitions out.
class Expansion {
 public:
  explicit Expansion(std::string_view text) : text_(text) {}

  bool read() {
    while (next_ < text_.size()) {
      if (!(text_[next_] == '(' ? read_group() : read_letter(items_))) return false;
    }
    return true;
  }
  [[nodiscard]] const std::vector<Item>& items() const { return items_; }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool fail(std::size_t at, std::string_view why) {
    error_ = fmt::format("\"{}\": {} at position {}", text_, why, at + 1);
    return false;
  }

  bool read_letter(std::vector<Item>& to) {
    const char letter = text_[next_];
    const std::size_t at = next_++;
    if (letter == ',') return true;
    if (std::string_view("EtmL|").find(letter) == std::string_view::npos) {
      return fail(at, fmt::format("'{}' is none of E, t, m, L, |, x*n and (..)*n", letter));
    }
    return repeat({{letter, at + 1}}, to);
  }

  bool read_group() {
    const std::size_t at = next_++;
    std::vector<Item> group;
    while (next_ < text_.size() && text_[next_] != ')') {
      if (text_[next_] == '(') return fail(next_, "a group inside a group");
      if (!read_letter(group)) return false;
    }
    if (next_ == text_.size()) return fail(at, "a '(' without its ')'");
    if (group.empty()) return fail(at, "a group of nothing");
    if (++next_ == text_.size() || text_[next_] != '*') {
      return fail(next_, "a group needs its *n");
    }
    return repeat(group, items_);
  }

  // Repeats the items as often as a following *n states, else once.
  bool repeat(const std::vector<Item>& items, std::vector<Item>& to) {
    int times = 1;
    if (next_ < text_.size() && text_[next_] == '*') {
      const char* const begin = text_.data() + next_ + 1;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), times);
      if (error != std::errc() || times < 1) return fail(next_, "'*' needs a whole number from 1");
      next_ += static_cast<std::size_t>(end - begin) + 1;
    }
    if (to.size() + items.size() * static_cast<std::size_t>(times) > kMostItems) {
      return fail(next_ - 1, fmt::format("more than {} items", kMostItems));
    }
    for (int i = 0; i < times; ++i) to.insert(to.end(), items.begin(), items.end());
    return true;
  }

  std::string_view text_;
  std::size_t next_ = 0;
  std::vector<Item> items_;
  std::string error_;
};

// Puts items into chunks; says what stands in the wrong order (Megatron-LM's
// validate_layer_layout).
class Order {
 public:
  // Adds one item. Returns its error; empty: none.
  std::string_view add(char letter) {
    ChunkItems& chunk = chunks_.back();
    if (closed_) return "L must be the last item";
    if (letter != 'E' && !opened_) return "E must be the first item";
    switch (letter) {
      case 'E':
        if (opened_) return "a second E";
        opened_ = chunk.embedding = true;
        return "";
      case 't':
        if (predicts_) return "decoder layers must stand before m";
        ++chunk.num_layers;
        return "";
      case 'm':
        predicts_ = true;
        ++chunk.mtp_num_layers;
        return "";
      case 'L':
        closed_ = chunk.loss = true;
        return "";
      default:
        chunks_.emplace_back();
        return "";
    }
  }
  [[nodiscard]] bool ends_with_loss() const { return closed_; }
  [[nodiscard]] std::vector<ChunkItems>& chunks() { return chunks_; }

 private:
  std::vector<ChunkItems> chunks_{ChunkItems{}};
  bool opened_ = false, predicts_ = false, closed_ = false;
};

}  // namespace

// Lists live as long as the program: handles to them stand in layouts everywhere.
PipelineLayout PipelineLayout::of(std::vector<ChunkItems> chunks) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const List>> lists;
  std::string text = text_of(chunks);
  const std::lock_guard lock(mutex);
  std::unique_ptr<const List>& list = lists[text];
  if (list == nullptr) {
    const auto id = static_cast<std::uint32_t>(lists.size());
    list = std::make_unique<const List>(List{std::move(chunks), std::move(text), id});
  }
  PipelineLayout handle;
  handle.list_ = list.get();
  return handle;
}

std::span<const ChunkItems> PipelineLayout::chunks() const {
  if (list_ == nullptr) return {};
  return list_->chunks;
}

std::string_view PipelineLayout::text() const { return list_ == nullptr ? kNone : list_->text; }

std::uint32_t PipelineLayout::id() const { return list_ == nullptr ? 0 : list_->id; }

std::variant<PipelineLayout, std::string> read_pipeline_layout(std::string_view text) {
  if (text == kNone) return PipelineLayout();
  Expansion expansion(text);
  if (!expansion.read()) return expansion.error();
  Order order;
  for (const Item& item : expansion.items()) {
    const std::string_view wrong = order.add(item.letter);
    if (!wrong.empty()) return fmt::format("\"{}\": {}, at position {}", text, wrong, item.at);
  }
  if (!order.ends_with_loss()) return fmt::format("\"{}\": the last item must be L", text);
  return PipelineLayout::of(std::move(order.chunks()));
}

}  // namespace meshwright
