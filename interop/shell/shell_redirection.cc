// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_redirection.h"

#include <algorithm>
#include <utility>

#include "interop/shell/shell_expansion.h"
#include "interop/shell/shell_words.h"

namespace meshwright::interop {

void ShellRedirections::read() {
  const bool from = c_.here() == '<';
  c_.advance();
  if (from && c_.here() == '<' && c_.ahead() == '<') {  // <<< word
    c_.advance(2);
    c_.skip_blanks();
    read_shell_word(c_, s_, depth_);
    return;
  }
  if (from && c_.here() == '<') return read_delimiter();
  if (c_.here() == '>' || c_.here() == '&') c_.advance();
  c_.skip_blanks();
  if (!from && c_.here() == '-' && c_.ahead() == '-') return;  // a pasted prompt, no file
  const std::vector<MarkedText> to = read_shell_word(c_, s_, depth_);
  if (!from && !to.empty()) written_to_ = to.front();
}

void ShellRedirections::read_delimiter() {
  c_.advance();
  const bool dedent = c_.here() == '-';
  if (dedent) c_.advance();
  c_.skip_blanks();
  const bool plain = c_.here() == '\'' || c_.here() == '"' || c_.here() == '\\';
  MarkedText delimiter;
  for (const MarkedText& word : read_shell_word(c_, s_, depth_)) delimiter.add(word);
  waiting_.push_back({delimiter.text(), plain, dedent, s_.dead()});
}

MarkedText ShellRedirections::read_body(const Waiting& waiting) {
  const int first = c_.line();
  MarkedText body;
  while (!c_.done()) {
    const std::size_t begin = c_.place();
    c_.skip_line();
    std::string text = c_.since(begin).text();
    if (waiting.dedent) text.erase(0, std::min(text.find_first_not_of('\t'), text.size()));
    if (!c_.done()) c_.advance();
    if (text == waiting.delimiter) return body;
    body.add(c_.since(begin));
  }
  s_.fail(first, fmt::format("the here-document up to {} has no end", waiting.delimiter));
}

void ShellRedirections::read_here_documents() {
  for (const Waiting& waiting : std::exchange(waiting_, {})) {
    MarkedText body = read_body(waiting);
    if (waiting.dead) continue;
    if (!waiting.plain) body = expanded_text(body, s_, depth_ + 1);
    s_.script.here_documents.push_back({written_to_, body});
  }
  written_to_ = {};
}

}  // namespace meshwright::interop
