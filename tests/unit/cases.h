// SPDX-License-Identifier: Apache-2.0
// Cases of a reader or a command in a text file, each with its input and its whole answer:
//
//   === A gated MLP is two thirds as wide
//   // 4 x 256 x 2 / 3 = 682.7, in whole 64s: 640.
//   %% seq_length=4096              values that are stated beside the input; "variants" says that
//                                   the text makes sense with a variant alone
//   >>> train.sh                    a file: the first is read, the others stand beside it
//   torchrun train.py @@            \n, \t, \r and \xNN are characters
//   @common                         a line of its own: the text of "=== @common"
//   <<<
//   model: ffn_hidden_size 1024     the answer, in parts
//   + --swiglu => model: ffn_hidden_size 640; activation swiglu
//   + --fp16                        more cases without their answers yet
//   + --seq-length 256 =>
//
// Lines with + up to an arrow are a case, too: their text stands at the @@ of the input, or at the
// end of the first file. The answer is what differs from that of the case, or of the first such
// lines where the case has none: its text is empty, or an error.
//
// Answers are compared to the letter. With MESHWRIGHT_UPDATE_SNAPSHOTS=1 in the environment the
// tests write them: read the difference before it is committed.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/record/json.h"

namespace meshwright::test {

struct Asked {
  std::string file, text;
  std::map<std::string, std::string> beside;  // texts of the other files, by name
  std::map<std::string, std::string> stated;  // of "%% seq_length=4096 model": "4096", ""
  [[nodiscard]] bool states(const std::string& key) const { return stated.count(key) > 0; }
};

// A key and its value, or a sentence without a key.
using Item = std::pair<std::string, std::string>;
struct Part {
  std::string name;  // empty: lines that are written as they are
  std::vector<Item> items;
  std::string gone = "no";  // in front of the keys that a variant does not have
};
using Answer = std::vector<Part>;

// Members of an object as items, those of objects inside as "outer.inner"; without those that
// `plain` has, too.
std::vector<Item> items_of(const Json& object, const Json& plain = Json::object());

// JSON of the text. Each further one is a merge patch (RFC 7396): null removes a member.
Json json_of(const std::string& text);

// What a reader makes of the JSON, as its writer says it, without what `plain` has, too; "hints"
// shows those of an error. What is written must be read as the same.
Answer reread(const Asked& asked, const std::function<Json(const Json&)>& read_and_write,
              const Json& plain = Json::object());

// Case files below a folder of tests/unit.
std::vector<std::string> case_files(const std::string& folder);
// Its name and that of its folder, for the name of a test.
std::string name_of_file(const std::string& file);

// One failure for each case of the file, below tests/unit, whose answer is another. An InputError
// is the answer, too.
void expect_cases(const std::string& file, const std::function<Answer(const Asked&)>& ask);

}  // namespace meshwright::test
