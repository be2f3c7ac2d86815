// SPDX-License-Identifier: Apache-2.0
#include "app/console/call.h"

#include "app/console/build.h"
#include "app/console/terminal.h"
#include "reports/text/text.h"

namespace meshwright::app {

std::string Call::text() const {
  std::string text = "meshwright";
  for (const std::string& word : arguments) text += ' ' + reports::shell_word(word);
  return text;
}

Call Call::of_text(const std::string& text) {
  Call call;
  std::string word;
  bool quoted = false;
  bool any = false;
  const auto end_word = [&] {
    if (any) call.arguments.push_back(word);
    word.clear();
    any = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ' && !quoted) {
      end_word();
      continue;
    }
    any = true;
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == '\\' && !quoted && i + 1 < text.size()) {
      word += text[++i];
    } else {
      word += c;
    }
  }
  end_word();
  if (!call.arguments.empty()) call.arguments.erase(call.arguments.begin());  // meshwright
  return call;
}

Call Call::as(const std::string& command,
              const std::function<bool(const std::string&)>& keeps) const {
  Call made{{command}};
  bool kept = false;
  for (const std::string& word : arguments) {
    if (word.starts_with("--")) kept = keeps(word.substr(0, word.find('=')));
    if (kept) made.arguments.push_back(word);
  }
  return made;
}

Call Call::with(const std::vector<std::string>& words) const {
  Call made = *this;
  made.arguments.insert(made.arguments.end(), words.begin(), words.end());
  return made;
}

reports::Origin Call::origin() const {
  return {.tool_version = kVersion, .command = text(), .inputs = {}};
}

void say_next(const Call& call) { say("next: {}\n", call.text()); }

}  // namespace meshwright::app
