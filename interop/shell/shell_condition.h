// SPDX-License-Identifier: Apache-2.0
// Results of [ ], test, [[ ]] and (( )), where the values in them are known. Tests of files and
// regular expressions are unknown.
#pragma once

#include <optional>
#include <vector>

#include "interop/shell/shell_cursor.h"
#include "interop/shell/shell_flow.h"

namespace meshwright::interop {

// One word of a test.
struct ConditionWord {
  MarkedText text;
  MarkedText pattern;   // with a backslash before what quotes make plain
  bool symbol = false;  // ( ) && || < > of [[ ]]
};

// `words` without the brackets; `typed` is what the script has, for the reason. In [[ ]],
// `extended`, the right side of == is a pattern and numbers may be expressions.
ShellResult test_result(const std::vector<ConditionWord>& words, bool extended,
                        const MarkedText& typed, ShellState& state);
// [ a = b ], with its bracket, and test a = b.
ShellResult simple_test(const std::vector<MarkedText>& words, const MarkedText& typed,
                        ShellState& state);

// At [[ or ((, which they pass with all up to the end. Nothing, and the cursor unmoved: there is no
// end.
std::optional<ShellResult> read_extended_test(ShellCursor& cursor, ShellState& state, int depth);
std::optional<ShellResult> read_arithmetic_command(ShellCursor& cursor, ShellState& state,
                                                   int depth);
// The place behind the )) that ends what begins at the cursor; 0: none within 400 characters.
std::size_t end_of_arithmetic(const ShellCursor& cursor);

// Tells whether a case's word matches a pattern.
ShellStatus pattern_status(const MarkedText& word, const MarkedText& pattern, ShellState& state);

}  // namespace meshwright::interop
