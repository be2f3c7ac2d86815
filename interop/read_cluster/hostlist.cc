// SPDX-License-Identifier: Apache-2.0
#include "interop/read_cluster/hostlist.h"

#include <algorithm>
#include <charconv>

#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

[[noreturn]] void fail(const Place& place, const std::string& what) {
  throw InputError(place.text(), "", what, "a list of hosts looks like gpu[001-064,070],login");
}

int number_in(std::string_view digits, const Place& place) {
  int value = -1;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stopped != end || value < 0) {
    fail(place, fmt::format("\"{}\" is no number of a host", digits));
  }
  return value;
}

// "0-3,12": the numbers as they are typed, zeros in front kept.
std::vector<std::string> numbers_in(std::string_view inside, const Place& place) {
  std::vector<std::string> numbers;
  while (!inside.empty()) {
    const std::size_t comma = std::min(inside.find(','), inside.size());
    const std::string_view part = inside.substr(0, comma);
    inside.remove_prefix(std::min(comma + 1, inside.size()));
    const std::size_t dash = part.find('-');
    const std::string_view low = part.substr(0, dash);
    const int first = number_in(low, place);
    const int last =
        dash == std::string_view::npos ? first : number_in(part.substr(dash + 1), place);
    if (last < first) fail(place, fmt::format("\"{}\" is no range of hosts", part));
    if (numbers.size() + static_cast<std::size_t>(last - first) >= kMostHosts) {
      fail(place, "names more than 100,000 hosts");
    }
    for (int n = first; n <= last; ++n) {
      numbers.push_back(fmt::format("{:0{}}", n, low.size()));
    }
  }
  return numbers;
}

// One entry: "rack[1-2]node[0-7]".
std::vector<std::string> names_of(std::string_view entry, const Place& place) {
  std::vector<std::string> names{""};
  while (!entry.empty()) {
    const std::size_t open = std::min(entry.find('['), entry.size());
    for (std::string& name : names) name += entry.substr(0, open);
    entry.remove_prefix(open);
    if (entry.empty()) break;
    const std::size_t close = entry.find(']');
    if (close == std::string_view::npos) fail(place, "a bracket of a list of hosts is not closed");
    const std::vector<std::string> numbers = numbers_in(entry.substr(1, close - 1), place);
    if (names.size() * numbers.size() > kMostHosts) fail(place, "names more than 100,000 hosts");
    std::vector<std::string> more;
    for (const std::string& name : names) {
      for (const std::string& number : numbers) more.push_back(name + number);
    }
    names = std::move(more);
    entry.remove_prefix(close + 1);
  }
  return names;
}

}  // namespace

std::vector<std::string> expanded_hostlist(std::string_view text, const Place& place) {
  std::vector<std::string> hosts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (depth < 0 || depth > 1) fail(place, "brackets of a list of hosts do not match");
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    for (std::string& name : names_of(text.substr(begin, i - begin), place)) {
      if (!name.empty()) hosts.push_back(std::move(name));
    }
    if (hosts.size() > kMostHosts) fail(place, "names more than 100,000 hosts");
    begin = i + 1;
  }
  return hosts;
}

}  // namespace meshwright::interop
