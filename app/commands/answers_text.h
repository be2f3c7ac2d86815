// SPDX-License-Identifier: Apache-2.0
// A plan's answers as sentences and small tables for the terminal.
#pragma once

#include <string>
#include <vector>

#include "app/console/terminal.h"
#include "planner/questions/answers.h"

namespace meshwright::app {

struct Paragraph {
  std::string heading;  // wrapped where it is printed
  std::string body;     // lines
  Style style = Style::heading;
};
void print_first_paragraph(const Paragraph& paragraph);
void print_paragraph(const Paragraph& paragraph);  // after an empty line

// How sure the choice of layout #1 is, and the nearest value at which it changes. Lines.
std::string sureness_text(const planner::Answers& answers);

// The first `most` of them.
Paragraph red_flags_text(const std::vector<planner::RedFlag>& flags, std::size_t most);
Paragraph what_if_text(const planner::Answers& answers);

// Red flags, the rule of thumb, confidence, proposed runs, what the winner hangs on, flip points,
// what-ifs, placement: the parts that there are.
std::vector<Paragraph> answers_text(const planner::Answers& answers, const planner::Plan& plan);

}  // namespace meshwright::app
