// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "sim/base/error.h"
#include "tests/paths.h"

namespace meshwright::test {
namespace {

constexpr std::size_t kColumns = 120;

struct Variant {
  std::string typed, answer;
};
struct Case {
  std::string title;
  std::string typed;   // lines up to the answer
  bool asks = false;   // the lines have an answer
  std::string answer;  // before the first variant
  std::vector<Variant> variants;
};
struct CaseText {
  std::string head;  // a comment
  std::vector<Case> cases;
};

bool updates() { return std::getenv("MESHWRIGHT_UPDATE_SNAPSHOTS") != nullptr; }

std::string path_below_tests(const std::string& file) {
  return std::string(MESHWRIGHT_SOURCE_DIR) + "/tests/unit/" + file;
}

// A variant goes on until its answer begins.
void add_variant_line(const std::string& line, std::vector<Variant>& variants) {
  const std::size_t arrow = line.find(" =>");
  if (variants.empty() || !variants.back().answer.empty()) {
    variants.emplace_back();
  } else {
    variants.back().typed += "\n";
  }
  variants.back().typed += line.substr(2, arrow - 2);
  if (arrow != std::string::npos) variants.back().answer = line.substr(arrow) + "\n";
}

CaseText read_case_file(const std::string& path) {
  std::ifstream in(path);
  CaseText text;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("=== ")) {
      text.cases.push_back({.title = line.substr(4), .typed = "", .answer = "", .variants = {}});
    } else if (text.cases.empty()) {
      text.head += line + "\n";
    } else if (Case& last = text.cases.back(); !last.asks) {
      last.asks = line == "<<<";
      if (!last.asks) last.typed += line + "\n";
    } else if (line.starts_with("+ ")) {
      add_variant_line(line, last.variants);
    } else {
      (last.variants.empty() ? last.answer : last.variants.back().answer) += line + "\n";
    }
  }
  return text;
}

std::string characters_of(std::string_view typed) {
  std::string text;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    const char next = typed[i] == '\\' && i + 1 < typed.size() ? typed[i + 1] : '\0';
    if (next == 'n' || next == 't' || next == 'r') {
      text += next == 'n' ? '\n' : next == 't' ? '\t' : '\r';
      ++i;
    } else if (next == 'x' && i + 3 < typed.size()) {
      text += static_cast<char>(std::stoi(std::string(typed.substr(i + 2, 2)), nullptr, 16));
      i += 3;
    } else {
      text += typed[i];
    }
  }
  return text;
}

std::map<std::string, std::string> words_of(const std::string& line) {
  std::map<std::string, std::string> stated;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    stated[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  return stated;
}

// The files of a case, as they are without a variant, and what stands beside them.
using Files = std::vector<std::pair<std::string, std::string>>;
Files files_of(const Case& one, const std::map<std::string, std::string>& common, Asked& asked) {
  Files files{{"", ""}};
  std::istringstream lines(one.typed);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("%% ")) {
      asked.stated = words_of(line.substr(3));
    } else if (line.starts_with(">>> ")) {
      if (files.back() == std::pair<std::string, std::string>{}) files.pop_back();
      files.emplace_back(line.substr(4), "");
    } else if (common.count(line) > 0) {
      files.back().second += common.at(line);
    } else if (!line.starts_with("// ")) {
      files.back().second += characters_of(line) + "\n";
    }
  }
  return files;
}

// The input of a case; `variant` is nullptr for the case itself.
Asked asked_of(const Case& one, const std::map<std::string, std::string>& common,
               const std::string* variant) {
  Asked asked;
  Files files = files_of(one, common, asked);
  bool placed = false;
  for (auto& [name, text] : files) {
    for (std::size_t at = text.find("@@"); at != std::string::npos; at = text.find("@@")) {
      text.replace(at, 2, variant == nullptr ? "" : characters_of(*variant));
      placed = true;
    }
  }
  if (variant != nullptr && !placed) files.front().second += characters_of(*variant) + "\n";
  asked.file = files.front().first;
  asked.text = files.front().second;
  asked.beside.insert(files.begin() + 1, files.end());
  return asked;
}

std::string text_of(const Item& item) {
  return item.second.empty() ? item.first
                             : item.first + (item.first.empty() ? "" : " ") + item.second;
}

std::string on_one_line(std::string text) {
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n'))
    text.replace(at, 1, "\\n");
  return text;
}

// Breaks a line at blanks, so that each fits.
std::string wrapped(const std::string& text, const std::string& indent, std::size_t used = 0) {
  std::string lines, rest = text;
  for (std::size_t room = kColumns - used; rest.size() > room; room = kColumns - indent.size()) {
    std::size_t blank = rest.rfind(' ', room);
    if (blank == std::string::npos || blank == 0) blank = rest.find(' ', room);
    if (blank == std::string::npos) break;
    lines += rest.substr(0, blank) + "\n" + indent;
    rest.erase(0, blank + 1);
  }
  return lines + rest;
}

std::string text_of(const Part& part) {
  std::string line = part.name.empty() ? "" : part.name + ":";
  for (const Item& item : part.items)
    line += (&item == &part.items.front() ? " " : "; ") + on_one_line(text_of(item));
  return line;
}

// Marks of a file do not stand at the beginning of a line of an answer.
std::string unmarked(const std::string& line) {
  const bool marked = line.starts_with("=== ") || line.starts_with("+ ");
  return marked ? " " + line : line;
}

std::string text_of(const Answer& answer) {
  std::string text;
  for (const Part& part : answer) {
    if (part.items.empty()) continue;
    if (!part.name.empty()) text += wrapped(text_of(part), "  ") + "\n";
    for (const Item& item : part.items) {
      if (part.name.empty()) text += unmarked(text_of(item)) + "\n";
    }
  }
  return text;
}

// A part without items is none.
const Part* part_named(const Answer& answer, const std::string& name) {
  for (const Part& part : answer) {
    if (part.name == name && !part.items.empty()) return &part;
  }
  return nullptr;
}

bool has_key(const Part& part, const std::string& key) {
  return std::any_of(part.items.begin(), part.items.end(),
                     [&](const Item& item) { return item.first == key; });
}

// Items of `now` that `before` has not, and the keys of those that are gone.
Part difference(const Part& now, const Part& before) {
  Part part{now.name, {}, now.gone};
  if (now.name.empty()) return now.items == before.items ? part : now;  // lines belong together
  for (const Item& item : now.items) {
    if (std::find(before.items.begin(), before.items.end(), item) == before.items.end())
      part.items.push_back(item);
  }
  for (const Item& item : before.items) {
    if (!has_key(now, item.first)) part.items.emplace_back(before.gone + " " + item.first, "");
  }
  return part;
}

std::string difference_text(const Answer& now, const Answer& before) {
  std::string line;
  const auto add = [&](const Part& part) {
    if (!part.items.empty()) line += (line.empty() ? "" : " | ") + text_of(part);
  };
  for (const Part& part : now) {
    if (part.items.empty()) continue;
    const Part* other = part_named(before, part.name);
    add(difference(part, other == nullptr ? Part{} : *other));
  }
  for (const Part& part : before) {
    const bool gone = !part.name.empty() && part_named(now, part.name) == nullptr;
    if (gone && !part.items.empty()) add({part.name, {{"none", ""}}});
  }
  return line.empty() ? "the same" : line;
}

Answer answer_to(const std::function<Answer(const Asked&)>& ask, const Asked& asked) {
  try {
    return ask(asked);
  } catch (const InputError& error) {
    const bool shows = asked.states("hints") && !error.hint().empty();
    return {{"error", {{error.what() + (shows ? "; hint: " + error.hint() : ""), ""}}}};
  }
}

bool is_error(const Answer& answer) {
  return !answer.empty() && answer.front().name.starts_with("error");
}

// What stands behind a variant, on its line if there is room.
std::string variant_answer(const Variant& variant, const Answer& now, const Answer& before) {
  const std::string difference = difference_text(now, is_error(now) ? Answer{} : before);
  const std::size_t last_line = variant.typed.size() - (variant.typed.rfind('\n') + 1);
  if (2 + last_line + 4 + difference.size() <= kColumns) return " => " + difference + "\n";
  return "  => " + wrapped(difference, "     ", 5) + "\n";
}

std::string text_of(const Variant& variant) {
  std::string text = "+ ";
  for (const char c : variant.typed) text += c == '\n' ? "\n+ " : std::string(1, c);
  return text + (variant.answer.starts_with(" => ") ? "" : "\n") + variant.answer;
}

std::string text_of(const Case& one) {
  std::string text = "=== " + one.title + "\n" + one.typed + (one.asks ? "<<<\n" : "") + one.answer;
  for (const Variant& variant : one.variants) text += text_of(variant);
  return text;
}

void write_case_file(const std::string& path, const CaseText& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream out(path);
  out << text.head;
  for (const Case& one : text.cases) out << text_of(one);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Shows the lines from the first to the last that differ.
void expect_same(const std::string& title, const std::string& expected, const std::string& now) {
  if (expected == now) return;
  std::vector<std::string> before = lines_of(expected), after = lines_of(now);
  const auto first = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  before.erase(before.begin(), first.first);
  after.erase(after.begin(), first.second);
  while (!before.empty() && !after.empty() && before.back() == after.back()) {
    before.pop_back();
    after.pop_back();
  }
  ADD_FAILURE() << title << "\nexpected:\n"
                << fmt::format("{}", fmt::join(before, "\n")) << "\nis now:\n"
                << fmt::format("{}", fmt::join(after, "\n"))
                << "\nMESHWRIGHT_UPDATE_SNAPSHOTS=1 writes it.";
}

void answer_case(Case& one, const std::map<std::string, std::string>& common,
                 const std::function<Answer(const Asked&)>& ask) {
  const Asked own = asked_of(one, common, nullptr);
  const bool is_empty =
      own.states("variants") || own.text.find_first_not_of(" \n") == std::string::npos;
  Answer before;
  if (!is_empty || one.variants.empty()) before = answer_to(ask, own);
  one.answer = text_of(before);
  if (is_error(before)) before.clear();
  for (Variant& variant : one.variants) {
    const Answer now = answer_to(ask, asked_of(one, common, &variant.typed));
    variant.answer = variant_answer(variant, now, before);
    if (before.empty() && !is_error(now)) before = now;
  }
}

// Blank lines between cases are no part of an answer.
std::string behind_text(std::string& text) {
  std::string blank;
  while (text.ends_with("\n\n") || text == "\n") {
    text.pop_back();
    blank += "\n";
  }
  return blank;
}

std::string text_of_value(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& each : value) text += (text.empty() ? "" : ", ") + text_of_value(each);
  return "[" + text + "]";
}

void add_items(const std::string& prefix, const Json& object, const Json& plain,
               std::vector<Item>& items) {
  for (const auto& [key, value] : object.items()) {
    const Json other = plain.is_object() && plain.contains(key) ? plain[key] : Json();
    if (plain.is_object() && plain.contains(key) && other == value) continue;
    if (value.is_object() && !value.empty()) {
      add_items(prefix + key + ".", value, other, items);
    } else {
      items.emplace_back(prefix + key, text_of_value(value));
    }
  }
}

}  // namespace

std::vector<Item> items_of(const Json& object, const Json& plain) {
  std::vector<Item> items;
  add_items("", object, plain, items);
  return items;
}

Json json_of(const std::string& text) {
  std::istringstream in(text);
  Json all, next;
  for (in >> all >> std::ws; !in.eof(); in >> std::ws) {
    in >> next;
    all.merge_patch(next);
  }
  return all;
}

Answer reread(const Asked& asked, const std::function<Json(const Json&)>& read_and_write,
              const Json& plain) {
  const Json written = read_and_write(json_of(asked.text));
  EXPECT_EQ(read_and_write(Json::parse(written.dump())), written);
  return {{"read", items_of(written, plain), "default"}};
}

std::vector<std::string> case_files(const std::string& folder) {
  std::vector<std::string> files;
  const std::string root = path_below_tests("");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root + folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string().substr(root.size()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string name_of_file(const std::string& file) {
  const std::filesystem::path path(file);
  std::string name = path.parent_path().stem().string() + "_" + path.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

void expect_cases(const std::string& file, const std::function<Answer(const Asked&)>& ask) {
  const std::string path = path_below_tests(file);
  CaseText text = read_case_file(path);
  ASSERT_FALSE(text.cases.empty()) << path;
  std::map<std::string, std::string> common;
  for (Case& one : text.cases) {
    if (one.title.starts_with("@")) {
      Asked ignored;
      std::string& body = common[one.title] = files_of(one, common, ignored).front().second;
      behind_text(body);
      continue;
    }
    std::string& last = one.variants.empty() ? one.answer : one.variants.back().answer;
    const std::string blank = behind_text(last);
    one.asks = true;
    const std::string expected = text_of(one);
    answer_case(one, common, ask);
    if (!updates()) expect_same(file + ": " + one.title, expected, text_of(one));
    (one.variants.empty() ? one.answer : one.variants.back().answer) += blank;
  }
  if (updates()) write_case_file(path, text);
}

}  // namespace meshwright::test
