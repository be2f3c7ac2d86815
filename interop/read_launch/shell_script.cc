// SPDX-License-Identifier: Apache-2.0
// Commands of a script one after the other: their words and assignments, redirections and
// here-documents, blocks, and what `bash -c` and eval run.
#include "interop/read_launch/shell_script.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "interop/read_launch/shell_assignment.h"
#include "interop/read_launch/shell_cursor.h"
#include "interop/read_launch/shell_expansion.h"
#include "interop/read_launch/shell_state.h"
#include "interop/read_launch/shell_words.h"

namespace meshwright::interop {
namespace {

template <std::size_t n>
bool one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}
constexpr std::array<std::string_view, 6> kOpens{"if", "for", "while", "until", "case", "{"};
constexpr std::array<std::string_view, 4> kCloses{"fi", "done", "esac", "}"};
constexpr std::array<std::string_view, 4> kBetween{"then", "else", "elif", "do"};
constexpr std::array<std::string_view, 5> kDeclares{"export", "declare", "local", "readonly",
                                                    "typeset"};

class ScriptReader {
 public:
  ScriptReader(ShellState& state, const MarkedText& text, int depth)
      : s_(state), c_(text), depth_(depth) {
    state.check_depth(depth, text.line());
  }

  void read() {
    while (!c_.done()) read_command();
  }

 private:
  // One simple command, its redirections and assignments with it.
  void read_command() {
    ShellCommand command;
    bool declares = false;
    while (!c_.done()) {
      c_.skip_blanks();
      if (c_.done()) break;
      if (command.words.empty() && c_.here() == '`' && c_.ahead() == '`') {
        c_.skip_line();  // the fence of a pasted block
        continue;
      }
      if (c_.here() == '#') {
        read_header_or_skip();
        continue;
      }
      if (c_.here() == '<' || c_.here() == '>') {
        drop_descriptor(command);
        read_redirection();
        continue;
      }
      if (c_.here() == '&' && c_.ahead() == '>') {
        c_.advance();
        continue;
      }
      if (ends_command(c_.here())) {
        const bool line_ends = c_.here() == '\n';
        c_.advance();
        if (line_ends) read_here_documents();
        break;
      }
      if ((command.words.empty() || declares) && read_shell_assignment(c_, s_, depth_, declares))
        continue;
      for (MarkedText& word : read_shell_word(c_, s_, depth_)) {
        if (command.words.empty() && is_reserved(word)) continue;
        if (command.words.empty() && one_of(word.text(), kDeclares)) declares = true;
        command.words.push_back(std::move(word));
      }
    }
    if (!command.words.empty()) finish(std::move(command));
  }

  // The 2 of "2>&1" is no word.
  void drop_descriptor(ShellCommand& command) {
    const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
    const std::size_t at = c_.place();
    if (command.words.empty() || at == 0 || !is_digit(c_.text().at(at - 1))) return;
    const std::string& word = command.words.back().text();
    if (std::all_of(word.begin(), word.end(), is_digit)) command.words.pop_back();
  }

  bool is_reserved(const MarkedText& word) {
    const std::string& text = word.text();
    if (one_of(text, kOpens)) {
      ++s_.conditions;
      if (text == "for") read_loop_variable();
      return true;
    }
    if (one_of(text, kCloses)) {
      s_.conditions = std::max(0, s_.conditions - 1);
      return true;
    }
    return one_of(text, kBetween) || text == "!" || text == "time";
  }

  void read_loop_variable() {
    c_.skip_blanks();
    const int at = c_.line();
    const std::string name = c_.take_name();
    if (name.empty()) return;
    s_.variables.erase(name);
    s_.script.why_unknown[name] = fmt::format("it takes several values in a loop, line {}", at);
  }

  void finish(ShellCommand command) {
    const std::size_t n = command.words.size();
    if (n == 1 && one_of(command.words.front().text(), kDeclares)) return;
    for (std::size_t i = 1; i + 1 < n; ++i) {
      const std::string& shell = command.words[i - 1].text();
      const std::string& option = command.words[i].text();
      const bool is_shell = shell.ends_with("bash") || shell == "sh" || shell.ends_with("/sh");
      if (is_shell && (option == "-c" || option == "-lc" || option == "-xc")) {
        ScriptReader(s_, command.words[i + 1], depth_ + 1).read();
        command.words.resize(i + 1);
        break;
      }
    }
    if (command.words.front().text() == "eval") {
      MarkedText rest;
      for (std::size_t i = 1; i < n; ++i) {
        rest.add(command.words[i]);
        rest.add(' ', rest.line());
      }
      return ScriptReader(s_, rest, depth_ + 1).read();
    }
    s_.script.commands.push_back(std::move(command));
  }

  // "#SBATCH --nodes=48", or a comment.
  void read_header_or_skip() {
    const std::size_t begin = c_.place();
    c_.skip_line();
    const MarkedText comment = c_.since(begin);
    if (!comment.text().starts_with("#SBATCH")) return;
    const std::vector<MarkedText> fields = comment.fields();
    for (std::size_t i = 1; i < fields.size() && fields[i].text().front() == '-'; ++i) {
      std::string name = fields[i].text();
      std::string value;
      const std::size_t equals = name.find('=');
      if (equals != std::string::npos) {
        value = name.substr(equals + 1);
        name.resize(equals);
      } else if (i + 1 < fields.size() && fields[i + 1].text().front() != '-') {
        value = fields[++i].text();
      }
      if (name == "-N") name = "--nodes";
      s_.script.slurm[name] = value;
      if (name != "--nodes") continue;
      for (const char* variable : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) {
        MarkedText text;
        for (const char c : value) text.add(c, comment.line());
        s_.variables[variable] = {{text}};
      }
    }
  }

  void read_redirection() {
    const bool from = c_.here() == '<';
    c_.advance();
    if (from && c_.here() == '<' && c_.ahead() == '<') {  // <<< word
      c_.advance(2);
      c_.skip_blanks();
      read_shell_word(c_, s_, depth_);
      return;
    }
    if (from && c_.here() == '<') {
      c_.advance();
      const bool dedent = c_.here() == '-';
      if (dedent) c_.advance();
      c_.skip_blanks();
      const bool plain = c_.here() == '\'' || c_.here() == '"' || c_.here() == '\\';
      MarkedText delimiter;
      for (const MarkedText& word : read_shell_word(c_, s_, depth_)) delimiter.add(word);
      waiting_.push_back({delimiter.text(), plain, dedent});
      return;
    }
    if (c_.here() == '>' || c_.here() == '&') c_.advance();
    c_.skip_blanks();
    if (!from && c_.here() == '-' && c_.ahead() == '-') return;  // a pasted prompt, no file
    const std::vector<MarkedText> to = read_shell_word(c_, s_, depth_);
    if (!from && !to.empty()) written_to_ = to.front();
  }

  struct Waiting {
    std::string delimiter;
    bool plain = false, dedent = false;
  };
  void read_here_documents() {
    for (const Waiting& waiting : std::exchange(waiting_, {})) {
      const int first = c_.line();
      MarkedText body;
      bool closed = false;
      while (!c_.done() && !closed) {
        const std::size_t begin = c_.place();
        c_.skip_line();
        std::string text = c_.since(begin).text();
        if (waiting.dedent) text.erase(0, std::min(text.find_first_not_of('\t'), text.size()));
        closed = text == waiting.delimiter;
        if (!c_.done()) c_.advance();
        if (!closed) body.add(c_.since(begin));
      }
      if (!closed)
        s_.fail(first, fmt::format("the here-document up to {} has no end", waiting.delimiter));
      if (!waiting.plain) body = expanded_text(body, s_, depth_ + 1);
      s_.script.here_documents.push_back({written_to_, body});
    }
    written_to_ = {};
  }

  ShellState& s_;
  ShellCursor c_;
  int depth_;
  std::vector<Waiting> waiting_;
  MarkedText written_to_;
};

}  // namespace

ShellScript read_shell_script(std::string_view text, const std::string& file,
                              const std::map<std::string, std::string>& known) {
  ShellState state;
  state.file = file;
  for (const auto& [name, value] : known) {
    MarkedText given;
    for (const char c : value) given.add(c, 0);
    state.variables[name] = {{given}};
    state.given.insert(name);
  }
  const MarkedText marked(text);
  state.count(marked.size(), 1);
  ScriptReader(state, marked, 0).read();
  return std::move(state.script);
}

}  // namespace meshwright::interop
