// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_flow.h"

#include <utility>

namespace meshwright::interop {
namespace {

using Status = ShellStatus;

bool decided(Status status) { return status == Status::yes || status == Status::no; }

ShellContext under(ShellContext base, const ShellCausePtr& cause) {
  if (base.mode != ShellMode::live) return base;
  base.mode = ShellMode::conditional;
  base.cause = cause;
  return base;
}

ShellContext dead(ShellContext base) {
  base.mode = ShellMode::dead;
  return base;
}

ShellResult reversed(ShellResult result) {
  result.status = result.status == Status::yes  ? Status::no
                  : result.status == Status::no ? Status::yes
                                                : Status::unknown;
  return result;
}

ShellResult both(const ShellResult& left, const ShellResult& right) {
  if (left.status == Status::no) return left;
  if (left.status == Status::yes || right.status == Status::no) return right;
  const bool less_known = right.status == Status::unknown && left.status == Status::assumed;
  return less_known ? right : left;
}

ShellResult either(const ShellResult& left, const ShellResult& right) {
  if (left.status == Status::yes) return left;
  return left.status == Status::no || right.status == Status::yes ? right : left;
}

}  // namespace

ShellFlow::ShellFlow(ShellContext& now) : now_(now) {
  Block block;
  block.base = block.inner = now;
  blocks_.push_back(std::move(block));
}

ShellFlow::~ShellFlow() { now_ = blocks_.front().base; }

void ShellFlow::enter(ShellContext context) {
  Block& block = blocks_.back();
  block.join = Join::none;
  block.negated = false;
  block.inner = std::move(context);
  now_ = block.inner;
}

void ShellFlow::end_command(ShellResult result) {
  Block& block = blocks_.back();
  if (block.negated) result = reversed(std::move(result));
  if (block.inner.repeats && decided(result.status)) result.status = Status::unknown;
  block.left = block.join == Join::both     ? both(block.left, result)
               : block.join == Join::either ? either(block.left, result)
                                            : std::move(result);
  enter(block.inner);
}

void ShellFlow::negate() { blocks_.back().negated = !blocks_.back().negated; }

void ShellFlow::join(bool needs_success) {
  Block& block = blocks_.back();
  block.join = needs_success ? Join::both : Join::either;
  const Status left = block.left.status;
  const bool runs = left == (needs_success ? Status::yes : Status::no) ||
                    (needs_success && left == Status::assumed);
  now_ = runs            ? block.inner
         : decided(left) ? dead(block.inner)
                         : under(block.inner, block.left.cause);
}

void ShellFlow::push(Block block) {
  block.base = now_;
  ++open_[index(block.kind)];
  blocks_.push_back(std::move(block));
  enter(now_);
}

void ShellFlow::open(Kind kind) {
  Block block;
  block.kind = kind;
  block.condition = kind == Kind::choice;
  if (kind == Kind::brace || kind == Kind::bracket) block.left.status = Status::yes;
  push(std::move(block));
}

void ShellFlow::open_loop(const ShellCausePtr& cause, bool may_shift) {
  open(Kind::loop);
  ShellContext body = under(now_, cause);
  body.repeats = true;
  body.in_while = body.in_while || may_shift;
  enter(std::move(body));
}

void ShellFlow::open_function(Kind kind, const ShellCausePtr& cause) {
  open(kind);
  ShellContext body = cause ? under(now_, cause) : now_;
  body.repeats = body.in_function = true;
  enter(std::move(body));
}

void ShellFlow::open_case(MarkedText word, ShellCausePtr cause) {
  Block block;
  block.kind = Kind::pattern;
  block.awaits_pattern = true;
  block.cause = std::move(cause);
  block.word = std::make_shared<const MarkedText>(std::move(word));
  push(std::move(block));
}

void ShellFlow::pop_to(Kind kind) {
  while (blocks_.back().kind != kind) {
    --open_[index(blocks_.back().kind)];
    blocks_.pop_back();
  }
}

void ShellFlow::close(Kind kind) {
  if (open_[index(kind)] == 0) return;
  pop_to(kind);
  const bool group = kind == Kind::brace || kind == Kind::bracket;
  ShellResult result{Status::assumed, blocks_.back().cause};
  if (group) result = blocks_.back().left;
  --open_[index(kind)];
  blocks_.pop_back();
  end_command(std::move(result));
}

// Returns the context that remains for the branches that were not read yet.
ShellContext ShellFlow::remaining(const Block& block) {
  if (block.taken) return dead(block.base);
  return block.undecided ? under(block.base, block.cause) : block.base;
}

void ShellFlow::branch(const ShellResult& result) {
  Block& block = blocks_.back();
  const bool open = block.base.repeats || !decided(result.status);
  if (!open && result.status == Status::no) return enter(dead(block.base));
  if (open && !block.taken && !block.undecided) {
    block.undecided = true;
    if (result.cause) block.cause = result.cause;
  }
  enter(remaining(block));
  if (!open) block.taken = true;
}

void ShellFlow::then() {
  if (open_[index(Kind::choice)] == 0) return;
  pop_to(Kind::choice);
  Block& block = blocks_.back();
  if (!block.condition) return enter(block.inner);
  block.condition = false;
  branch(ShellResult(block.left));
}

void ShellFlow::elif () {
  if (open_[index(Kind::choice)] == 0) return;
  pop_to(Kind::choice);
  Block& block = blocks_.back();
  block.condition = true;
  block.left = {};
  enter(remaining(block));
}

void ShellFlow::otherwise() {
  if (open_[index(Kind::choice)] == 0) return;
  pop_to(Kind::choice);
  blocks_.back().condition = false;
  branch({Status::yes, nullptr});
}

void ShellFlow::clause(ShellStatus matches) {
  Block& block = blocks_.back();
  block.awaits_pattern = false;
  branch({block.falls_through ? Status::unknown : matches, nullptr});
}

void ShellFlow::end_clause(bool falls_through) {
  if (!in_case()) return;
  pop_to(Kind::pattern);
  Block& block = blocks_.back();
  if (falls_through) {
    block.taken = false;
    block.falls_through = true;
  }
  block.awaits_pattern = block.word != nullptr;
  enter(block.awaits_pattern ? block.base : remaining(block));
}

void ShellFlow::give_up_patterns() {
  Block& block = blocks_.back();
  block.awaits_pattern = false;
  block.word = nullptr;
  block.undecided = true;
  block.taken = false;
  enter(remaining(block));
}

}  // namespace meshwright::interop
