// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/shell_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include "interop/read_launch/shell_arithmetic.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

constexpr std::size_t kMostText = 4U << 20U;
constexpr int kDeepest = 20;

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool ends_command(char c) {
  return c == ';' || c == '\n' || c == '|' || c == '&' || c == '(' || c == ')';
}
bool ends_word(char c) { return c == ' ' || c == '\t' || c == '<' || c == '>' || ends_command(c); }

template <std::size_t n>
bool one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}
constexpr std::array<std::string_view, 6> kOpens{"if", "for", "while", "until", "case", "{"};
constexpr std::array<std::string_view, 4> kCloses{"fi", "done", "esac", "}"};
constexpr std::array<std::string_view, 4> kBetween{"then", "else", "elif", "do"};
constexpr std::array<std::string_view, 5> kDeclares{"export", "declare", "local", "readonly",
                                                    "typeset"};

struct Variable {
  std::vector<MarkedText> words;  // an array's; one of a plain variable
};

// What all levels of one script share.
struct State {
  std::string file;
  ShellScript script;
  std::map<std::string, Variable> variables;
  std::set<std::string> given;  // by the user, beside the script
  int conditions = 0;           // blocks that are open
  std::size_t text = 0;

  [[noreturn]] void fail(int line, const std::string& what, const std::string& hint = "") const {
    throw InputError(fmt::format("{}:{}", file, line), "", what, hint);
  }
  void count(std::size_t characters, int line) {
    text += characters;
    if (text > kMostText) fail(line, "the script's variables expand to more than 4 MiB");
  }
};

class Reader {
 public:
  Reader(State& state, const MarkedText& text, int depth) : s_(state), in_(text), depth_(depth) {
    if (depth > kDeepest) s_.fail(in_.line(), "commands are nested more than 20 deep");
  }

  void read() {
    while (!done()) read_command();
  }
  // Double-quoted text, as of a here-document.
  MarkedText expanded() {
    MarkedText out;
    while (!done()) {
      if (here() == '$' || here() == '`') {
        join(out, expansion(true));
      } else {
        take(out);
      }
    }
    return out;
  }

 private:
  struct Expansion {
    std::vector<MarkedText> words;
    bool array = false;  // "${A[@]}": as many words in quotes, too
  };

  [[nodiscard]] bool done() const { return at_ >= in_.size(); }
  [[nodiscard]] char here() const { return in_.at(at_); }
  [[nodiscard]] char ahead(std::size_t n = 1) const { return in_.at(at_ + n); }
  [[nodiscard]] int line() const { return in_.line_at(at_); }
  void take(MarkedText& out) {
    out.add(here(), line(), in_.unknown_at(at_));
    ++at_;
  }
  static void join(MarkedText& out, const Expansion& value) {
    for (std::size_t i = 0; i < value.words.size(); ++i) {
      if (i > 0) out.add(' ', out.line());
      out.add(value.words[i]);
    }
  }

  void skip_comment() {
    while (!done() && here() != '\n') ++at_;
  }
  bool skip_continuation() {
    if (here() != '\\' || ahead() != '\n') return false;
    at_ += 2;
    return true;
  }
  void skip_blanks() {
    while (!done() && (here() == ' ' || here() == '\t' || skip_continuation())) {
      if (here() == ' ' || here() == '\t') ++at_;
    }
  }

  // One simple command, its redirections and assignments with it.
  void read_command() {
    ShellCommand command;
    bool declares = false;
    while (!done()) {
      skip_blanks();
      if (done()) break;
      if (here() == '#') {
        read_header_or_skip();
        continue;
      }
      if (here() == '<' || here() == '>') {
        read_redirection();
        continue;
      }
      if (here() == '&' && ahead() == '>') {
        ++at_;
        continue;
      }
      if (ends_command(here())) {
        const bool line_ends = here() == '\n';
        ++at_;
        if (line_ends) read_here_documents();
        break;
      }
      if ((command.words.empty() || declares) && read_assignment(declares)) continue;
      for (MarkedText& word : read_word()) {
        if (command.words.empty() && is_reserved(word)) continue;
        if (command.words.empty() && one_of(word.text(), kDeclares)) declares = true;
        command.words.push_back(std::move(word));
      }
    }
    if (!command.words.empty()) finish(std::move(command));
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
    skip_blanks();
    const int at = line();
    std::string name;
    while (!done() && is_name(here())) {
      name += here();
      ++at_;
    }
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
        Reader(s_, command.words[i + 1], depth_ + 1).read();
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
      return Reader(s_, rest, depth_ + 1).read();
    }
    s_.script.commands.push_back(std::move(command));
  }

  // "#SBATCH --nodes=48", or a comment.
  void read_header_or_skip() {
    const std::size_t begin = at_;
    skip_comment();
    const MarkedText comment = in_.part(begin, at_);
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
    const bool from = here() == '<';
    ++at_;
    if (from && here() == '<' && ahead() == '<') {  // <<< word
      at_ += 2;
      skip_blanks();
      read_word();
      return;
    }
    if (from && here() == '<') {
      ++at_;
      const bool dedent = here() == '-';
      if (dedent) ++at_;
      skip_blanks();
      const bool plain = here() == '\'' || here() == '"' || here() == '\\';
      MarkedText delimiter;
      for (const MarkedText& word : read_word()) delimiter.add(word);
      waiting_.push_back({delimiter.text(), plain, dedent});
      return;
    }
    if (here() == '>' || here() == '&') ++at_;
    skip_blanks();
    const std::vector<MarkedText> to = read_word();
    if (!from && !to.empty()) written_to_ = to.front();
  }

  struct Waiting {
    std::string delimiter;
    bool plain = false, dedent = false;
  };
  void read_here_documents() {
    for (const Waiting& waiting : std::exchange(waiting_, {})) {
      const int first = line();
      MarkedText body;
      bool closed = false;
      while (!done() && !closed) {
        const std::size_t begin = at_;
        skip_comment();
        std::string text = in_.part(begin, at_).text();
        if (waiting.dedent) text.erase(0, std::min(text.find_first_not_of('\t'), text.size()));
        closed = text == waiting.delimiter;
        if (!done()) ++at_;
        if (!closed) body.add(in_.part(begin, at_));
      }
      if (!closed)
        s_.fail(first, fmt::format("the here-document up to {} has no end", waiting.delimiter));
      if (!waiting.plain) body = Reader(s_, body, depth_ + 1).expanded();
      s_.script.here_documents.push_back({written_to_, body});
    }
    written_to_ = {};
  }

  // NAME=value, NAME+=value, NAME=(a b), NAME[1]=x.
  bool read_assignment(bool exported) {
    std::size_t end = at_;
    if (!is_name_start(in_.at(end))) return false;
    while (is_name(in_.at(end))) ++end;
    const std::string name = in_.part(at_, end).text();
    const bool element = in_.at(end) == '[';
    if (element) {
      while (end < in_.size() && in_.at(end) != ']' && in_.at(end) != '\n') ++end;
      ++end;
    }
    const bool appends = in_.at(end) == '+' && in_.at(end + 1) == '=';
    if (in_.at(end) != '=' && !appends) return false;
    const int at = line();
    at_ = end + (appends ? 2 : 1);
    Variable value;
    if (here() == '(') {
      value.words = read_array();
    } else {
      MarkedText text;
      for (const MarkedText& word : read_word(false)) text.add(word);
      value.words = {text};
    }
    assign(name, std::move(value), appends, element, at);
    if (exported || s_.conditions == 0) {
      if (s_.variables.contains(name) && s_.variables[name].words.size() == 1) {
        s_.script.exported[name] = s_.variables[name].words.front();
      }
    }
    return true;
  }

  void assign(const std::string& name, Variable value, bool appends, bool element, int at) {
    if (s_.given.contains(name)) return;
    const auto old = s_.variables.find(name);
    if (element || s_.conditions > 0) {
      const bool same =
          old != s_.variables.end() && !appends && !element &&
          old->second.words.size() == value.words.size() &&
          std::equal(value.words.begin(), value.words.end(), old->second.words.begin(),
                     [](const auto& a, const auto& b) { return a.text() == b.text(); });
      if (same) return;
      s_.variables.erase(name);
      s_.script.why_unknown[name] = element
                                        ? fmt::format("single elements of it are set, line {}", at)
                                        : fmt::format("it is set under a condition, line {}", at);
      return;
    }
    if (s_.script.why_unknown.contains(name) && appends) return;
    s_.script.why_unknown.erase(name);
    std::size_t size = 0;
    for (const MarkedText& word : value.words) size += word.size();
    s_.count(size, at);
    if (!appends || old == s_.variables.end()) {
      s_.variables[name] = std::move(value);
    } else if (value.words.size() == 1 && old->second.words.size() == 1) {
      old->second.words.front().add(value.words.front());
    } else {
      for (MarkedText& word : value.words) old->second.words.push_back(std::move(word));
    }
  }

  std::vector<MarkedText> read_array() {
    const int first = line();
    ++at_;
    std::vector<MarkedText> words;
    while (true) {
      skip_blanks();
      if (done()) s_.fail(first, "the array that begins here is never closed");
      if (here() == ')') break;
      if (here() == '\n') {
        ++at_;
      } else if (here() == '#') {
        skip_comment();
      } else if (ends_word(here())) {
        s_.fail(line(), fmt::format("'{}' in an array is not understood", here()));
      } else {
        for (MarkedText& word : read_word()) words.push_back(std::move(word));
      }
    }
    ++at_;
    return words;
  }

  // One word, which expansions without quotes may make several of, or none.
  std::vector<MarkedText> read_word(bool splits = true) {
    std::vector<MarkedText> words;
    MarkedText word;
    bool there = false;
    while (!done() && !ends_word(here())) {
      if (skip_continuation()) continue;
      const char c = here();
      if (c == '\\') {
        ++at_;
        if (!done()) take(word);
        there = true;
      } else if (c == '\'') {
        read_single_quotes(word);
        there = true;
      } else if (c == '"') {
        there = read_double_quotes(word, words) || there;
      } else if (c == '$' || c == '`') {
        const Expansion value = expansion(false);
        if (!splits) {
          join(word, value);
          there = true;
          continue;
        }
        for (const MarkedText& part : value.words) {
          const std::vector<MarkedText> fields = part.fields();
          for (std::size_t i = 0; i < fields.size(); ++i) {
            if (i > 0 || (&part != value.words.data() && there)) {
              words.push_back(std::exchange(word, {}));
            }
            word.add(fields[i]);
            there = true;
          }
        }
      } else {
        take(word);
        there = true;
      }
    }
    if (there) words.push_back(std::move(word));
    return words;
  }

  void read_single_quotes(MarkedText& word) {
    const int first = line();
    ++at_;
    while (!done() && here() != '\'') take(word);
    if (done()) s_.fail(first, "the quote that begins here is never closed");
    ++at_;
  }

  // Whether there is a word: "${A[@]}" of an empty array is none.
  bool read_double_quotes(MarkedText& word, std::vector<MarkedText>& words) {
    const int first = line();
    bool there = true;
    ++at_;
    while (!done() && here() != '"') {
      if (skip_continuation()) continue;
      if (here() == '\\' &&
          (ahead() == '"' || ahead() == '\\' || ahead() == '$' || ahead() == '`')) {
        ++at_;
        take(word);
      } else if (here() == '$' || here() == '`') {
        const Expansion value = expansion(true);
        if (!value.array) {
          join(word, value);
          continue;
        }
        there = !value.words.empty() || !word.empty();
        for (std::size_t i = 0; i < value.words.size(); ++i) {
          if (i > 0) words.push_back(std::exchange(word, {}));
          word.add(value.words[i]);
        }
      } else {
        take(word);
      }
    }
    if (done()) s_.fail(first, "the quote that begins here is never closed");
    ++at_;
    return there;
  }

  // What $... or `...` stands for.
  Expansion expansion(bool quoted) {
    const int at = line();
    if (here() == '`') return unknown_up_to("`", at);
    if (ahead() == '(' && ahead(2) == '(') return arithmetic(at);
    if (ahead() == '(') return command_output(at);
    if (ahead() == '{') return braces(quoted, at);
    ++at_;
    std::string name;
    if (is_name_start(here())) {
      while (!done() && is_name(here())) {
        name += here();
        ++at_;
      }
      return value_of(name, "$" + name, at, false);
    }
    if (done() || here() == ' ' || here() == '"' || here() == '\n') {
      MarkedText dollar;
      dollar.add('$', at);
      return {{dollar}};
    }
    name = here();
    ++at_;
    return unknown("$" + name, at);
  }

  static Expansion unknown(const std::string& text, int at) {
    MarkedText value;
    value.add_unknown(text, at);
    return {{value}};
  }

  Expansion unknown_up_to(std::string_view end, int at) {
    std::string text(1, here());
    ++at_;
    while (!done() && !std::string_view(text).substr(1).ends_with(end)) {
      text += here();
      ++at_;
    }
    return unknown(text, at);
  }

  // The text between brackets, `at_` behind the closing one.
  MarkedText bracketed(char open, char close, int at) {
    const std::size_t begin = ++at_;
    for (int depth = 1; !done(); ++at_) {
      if (here() == open) ++depth;
      if (here() == close && --depth == 0) {
        ++at_;
        return in_.part(begin, at_ - 1);
      }
    }
    s_.fail(at, fmt::format("the {} that begins here is never closed", open));
  }

  Expansion command_output(int at) {
    ++at_;
    return unknown("$(" + bracketed('(', ')', at).text() + ")", at);
  }

  Expansion arithmetic(int at) {
    ++at_;
    const MarkedText inside = bracketed('(', ')', at);
    const MarkedText expression = inside.part(1, inside.size() - 1);
    const auto value = shell_arithmetic(expression.text(), [&](const std::string& name) {
      const Expansion found = value_of(name, name, at, false);
      return found.words.size() == 1 && !found.words.front().unknown() ? found.words.front().text()
                                                                       : std::string();
    });
    if (!value) return unknown("$((" + expression.text() + "))", at);
    MarkedText text;
    for (const char c : std::to_string(*value)) text.add(c, at);
    return {{text}};
  }

  Expansion braces(bool quoted, int at) {
    ++at_;
    const MarkedText inside = bracketed('{', '}', at);
    const std::string typed = "${" + inside.text() + "}";
    std::size_t end = 0;
    while (is_name(inside.at(end))) ++end;
    const std::string name = inside.part(0, end).text();
    std::string rest = inside.part(end, inside.size()).text();
    if (name.empty()) return unknown(typed, at);
    if (rest.empty()) return value_of(name, typed, at, false);
    if (rest == "[@]" || rest == "[*]") return value_of(name, typed, at, rest == "[@]" && quoted);
    const bool colon = rest.starts_with(":");
    const char operation = rest[colon ? 1 : 0];
    if (operation != '-' && operation != '=') return unknown(typed, at);
    const auto known = s_.variables.find(name);
    if (known != s_.variables.end() && !(colon && is_empty(known->second))) {
      return value_of(name, typed, at, false);
    }
    if (s_.script.why_unknown.contains(name)) return unknown(typed, at);
    MarkedText value = inside.part(end + (colon ? 2 : 1), inside.size());
    value = Reader(s_, value, depth_ + 1).expanded();
    s_.script.taken_defaults.push_back({name, value.text(), at});
    s_.variables[name] = {{value}};
    return {{value}};
  }
  static bool is_empty(const Variable& variable) {
    return variable.words.empty() || (variable.words.size() == 1 && variable.words.front().empty());
  }

  Expansion value_of(const std::string& name, const std::string& typed, int at, bool array) {
    const auto found = s_.variables.find(name);
    if (found == s_.variables.end()) {
      s_.script.why_unknown.try_emplace(name, "the file does not set it");
      return unknown(typed, at);
    }
    std::size_t size = 0;
    for (const MarkedText& word : found->second.words) size += word.size();
    s_.count(size, at);
    return {found->second.words, array};
  }

  State& s_;
  const MarkedText& in_;
  int depth_;
  std::size_t at_ = 0;
  std::vector<Waiting> waiting_;
  MarkedText written_to_;
};

}  // namespace

ShellScript read_shell_script(std::string_view text, const std::string& file,
                              const std::map<std::string, std::string>& known) {
  State state;
  state.file = file;
  for (const auto& [name, value] : known) {
    MarkedText given;
    for (const char c : value) given.add(c, 0);
    state.variables[name] = {{given}};
    state.given.insert(name);
  }
  const MarkedText marked(text);
  state.count(marked.size(), 1);
  Reader(state, marked, 0).read();
  return std::move(state.script);
}

}  // namespace meshwright::interop
