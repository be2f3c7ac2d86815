// SPDX-License-Identifier: Apache-2.0
#include "app/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace meshwright::app {
namespace {

int first_failure = 0;

// The code point of a control character at the start of `text`, else 0; and its length in UTF-8.
std::pair<unsigned, std::size_t> control_at(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first == '\r' && byte(1) == '\n') return {0, 1};  // the end of a line of CSV
  if ((first < 0x20 && first != '\n' && first != '\t') || first == 0x7f) return {first, 1};
  if (first == 0xc2 && byte(1) >= 0x80 && byte(1) <= 0x9f) return {byte(1), 2};
  if (first != 0xe2) return {0, 1};
  const unsigned code = ((first & 0x0fU) << 12U) | ((byte(1) & 0x3fU) << 6U) | (byte(2) & 0x3fU);
  const bool turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return {turns ? code : 0, turns ? 3 : 1};
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto [code, length] = control_at(text);
    if (code != 0 || text[0] == '\0') {
      shown += fmt::format("\\u{:04x}", code);
    } else {
      shown += text[0];
    }
    text.remove_prefix(code != 0 ? length : 1);
  }
  return shown;
}

namespace {

bool colours_wanted() {
  const auto set_to = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  return ::isatty(STDOUT_FILENO) != 0 && set_to("NO_COLOR").empty() && set_to("TERM") != "dumb";
}

void write_to_standard_output(const std::string& shown) {
  errno = 0;
  const bool whole = std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size();
  if (!whole && first_failure == 0) first_failure = errno;
}

}  // namespace

void print_text(std::string_view text) { write_to_standard_output(printable(text)); }

std::size_t terminal_width() {
  constexpr std::size_t kUnknown = 120;
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) {
    return kUnknown;
  }
  return size.ws_col > 0 ? size.ws_col : kUnknown;
}

std::string styled(Style style, std::string_view text, bool colours) {
  std::string shown = printable(text);
  if (!colours || style == Style::plain) return shown;
  const char* const code = style == Style::heading ? "1" : style == Style::good ? "1;32" : "33";
  const bool ends_line = shown.ends_with('\n');
  return fmt::format("\x1b[{}m{}\x1b[0m{}", code,
                     std::string_view(shown).substr(0, shown.size() - (ends_line ? 1 : 0)),
                     ends_line ? "\n" : "");
}

void print_styled(Style style, std::string_view text) {
  static const bool colours = colours_wanted();
  write_to_standard_output(styled(style, text, colours));
}

void say_text(std::string_view text) {
  flush_standard_output();  // where both are one, what was printed before stands before
  const std::string shown = printable(text);
  // Standard error that is gone leaves nobody to tell.
  [[maybe_unused]] const std::size_t written = std::fwrite(shown.data(), 1, shown.size(), stderr);
}

void show_progress(std::string_view text) {
  static const bool on_terminal = ::isatty(STDERR_FILENO) != 0;
  if (!on_terminal) return;
  const std::string line = fmt::format("\r\x1b[K{}", printable(text));
  [[maybe_unused]] const std::size_t written = std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

int flush_standard_output() {
  errno = 0;
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (failed && first_failure == 0) first_failure = errno != 0 ? errno : EIO;
  return first_failure;
}

}  // namespace meshwright::app
