// SPDX-License-Identifier: Apache-2.0
// Commands and what they answer: cases/*.txt. A case is a transcript:
//
//   $ plan --model ./m.json --cluster h100-8 | fastest|next    lines of the output with a match
//   $ review --from ./run.sh --json | /layout /fits            members of the JSON
//   ~ /measured/step_seconds 1024/103.3 0.05                   a number of it: worked by hand, and
//                                                              how near it must be
//   $ report ./plan.json --out ./page.html
//   $ cat ./page.html | verdict                                a file that was written
//
// Words that begin with ./ are files of the case, or of its commands; with configs/ or tests/, of
// the sources. A command that fails shows all of what it says, one error. Records in JSON show what
// is not as by default.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "app/console/call.h"
#include "sim/base/text.h"
#include "sim/json/records.h"
#include "sim/record/json.h"
#include "tests/paths.h"
#include "tests/unit/app/run_program.h"
#include "tests/unit/cases.h"

namespace meshwright::test {
namespace {

const std::string kSource = std::string(MESHWRIGHT_SOURCE_DIR) + "/";

// Six digits: the last bits of a double are the compiler's.
Json rounded(const Json& value) {
  if (value.is_number_float()) return Json::parse(fmt::format("{:.6g}", value.get<double>()));
  if (!value.is_structured()) return value;
  Json all = value;
  for (Json& each : all) each = rounded(each);
  return all;
}

Json plain_record(const std::string& name) {
  if (name == "layout") return to_json(Layout{});
  if (name == "job") return to_json(Job{});
  if (name == "model") return to_json(Model{});
  return Json::object();
}

// Facts and options of a launch by what they say.
std::string short_text(const Json& value) {
  if (value.is_object() && value.contains("why")) return value["said"].get<std::string>();
  if (!value.is_object() || !value.contains("field")) return value.dump();
  return value["field"].get<std::string>() + " " + value["value"].get<std::string>();
}

void add_members(const Json& document, const std::string& pointers, Answer& answer) {
  Part scalars{"answer", {}};
  std::vector<Part> records;
  for (const std::string& pointer : split_words(pointers)) {
    const std::string name = pointer.substr(1);
    const Json::json_pointer at(pointer);
    const Json value = document.contains(at) ? rounded(document[at]) : Json("absent");
    if (value.is_object() && !value.empty()) {
      records.push_back({name, items_of(value, plain_record(name)), "default"});
    } else if (value.is_array()) {
      std::string all;
      for (const Json& each : value) all += (all.empty() ? "" : ", ") + short_text(each);
      scalars.items.emplace_back(name, "[" + all + "]");
    } else {
      scalars.items.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  answer.push_back(scalars);
  answer.insert(answer.end(), records.begin(), records.end());
}

// Without what differs from run to run, where the files lie, and long lists of shipped names.
std::string without_places(std::string text, const TemporaryFolder& folder) {
  text = std::regex_replace(text, std::regex(R"(answered in [\d.]+ m?s)"), "answered");
  text = std::regex_replace(text, std::regex(R"(((?:[\w.-]+, ){2})(?:[\w.-]+, ){10,}([\w.-]+))"),
                            "$1..., $2");
  return replaced(replaced(text, folder.path(""), "./"), kSource, "");
}

void add_lines(const std::string& text, const std::string& pattern, Answer& answer) {
  Part lines{"", {}};
  const std::regex wanted(pattern);
  for (const std::string& line : split_lines(text)) {
    if (!line.empty() && std::regex_search(line, wanted)) lines.items.emplace_back(line, "");
  }
  if (lines.items.empty()) lines.items.emplace_back("no line has " + pattern, "");
  answer.push_back(lines);
}

ProgramResult result_of(std::vector<std::string> words, const TemporaryFolder& folder) {
  for (std::string& word : words) {
    word = replaced(word, "./", folder.path(""));
    if (word.starts_with("launches/")) word = "tests/unit/app/" + word;
    if (word.starts_with("configs/") || word.starts_with("tests/")) word = kSource + word;
  }
  if (words.front() == "cat") return {.exit_code = 0, .out = content_of(words.back()), .err = ""};
  return run_program(words);
}

Part refusal_of(const std::string& err, int exit_code) {
  Part part{exit_code == 2 ? "error" : fmt::format("error {}", exit_code), {}};
  for (const std::string& line : split_lines(replaced(err, "meshwright: error: ", ""))) {
    if (!line.empty()) part.items.emplace_back(line.substr(line.find_first_not_of(' ')), "");
  }
  return part;
}

// `shown` is what stands behind the bar.
void add_answer(const ProgramResult& result, const std::string& shown,
                const TemporaryFolder& folder, Answer& answer) {
  const std::string out = without_places(result.out, folder);
  const std::string err = without_places(result.err, folder);
  if (result.exit_code > 1) {
    if (!out.empty()) answer.push_back({"printed", {{split_lines(out).front() + " ...", ""}}});
    EXPECT_EQ(err.find("error:"), err.rfind("error:")) << err;
    return answer.push_back(refusal_of(err, result.exit_code));
  }
  if (result.exit_code == 1) answer.push_back({"exit", {{"1", ""}}});
  if (!shown.starts_with("/")) {
    return add_lines(out + "\n" + err, shown, answer);
  }
  add_members(Json::parse(out), shown, answer);
}

// Factors and quotients from left to right: "2*1024/103.3".
double product_of(const std::string& text) {
  double product = 1.0;
  char operation = '*';
  for (std::size_t at = 0; at < text.size();) {
    std::size_t used = 0;
    const double factor = std::stod(text.substr(at), &used);
    product = operation == '*' ? product * factor : product / factor;
    at += used;
    if (at < text.size()) operation = text[at++];
  }
  return product;
}

void expect_near(const Json& document, const std::string& line) {
  const std::vector<std::string> words = split_words(line);
  const Json::json_pointer at(words.at(1));
  ASSERT_TRUE(document.contains(at) && document[at].is_number()) << line;
  EXPECT_NEAR(document[at].get<double>(), product_of(words.at(2)), std::stod(words.at(3))) << line;
}

// No line is broken: where one breaks depends on how long the paths in it are.
class WideTerminal {
 public:
  WideTerminal() { ::setenv("COLUMNS", "10000", 1); }
  ~WideTerminal() { ::unsetenv("COLUMNS"); }
  WideTerminal(const WideTerminal&) = delete;
  WideTerminal& operator=(const WideTerminal&) = delete;
};

Answer transcript_of(const Asked& asked) {
  const WideTerminal wide;
  const TemporaryFolder folder;
  for (const auto& [name, text] : asked.beside) folder.write(name.substr(2), text);
  Answer answer;
  ProgramResult result;
  for (const std::string& line : split_lines(asked.text)) {
    if (line.starts_with("~ ")) expect_near(Json::parse(result.out), line);
    if (!line.starts_with("$ ")) continue;
    const std::size_t bar = line.find(" | ");
    const std::string command = line.substr(2, bar - 2);
    const std::string shown = bar == std::string::npos ? "." : line.substr(bar + 3);
    result = result_of(app::Call::of_text("meshwright " + command).arguments, folder);
    add_answer(result, shown, folder, answer);
  }
  return answer;
}

class CommandCases : public testing::TestWithParam<std::string> {};

TEST_P(CommandCases, HaveTheAnswersOfTheirFile) { expect_cases(GetParam(), transcript_of); }

INSTANTIATE_TEST_SUITE_P(App, CommandCases, testing::ValuesIn(case_files("app/cases")),
                         [](const auto& file) { return name_of_file(file.param); });

}  // namespace
}  // namespace meshwright::test
