// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/run_facts.h"

#include <cctype>
#include <cmath>

#include "interop/logs/log_numbers.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr double kMostParameters = 1e18;

// "1.34G": nanotron's unit, which number_at leaves.
double with_giga(double number, std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789.,");
  return end != std::string_view::npos && text[end] == 'G' ? number * 1e9 : number;
}

void set_parameters(std::optional<double> number, double unit, TrainingLog& log) {
  if (number && *number > 0.0 && *number * unit <= kMostParameters) {
    log.parameters = *number * unit;
  }
}

// "size: 8,030,261,248 total parameters"
void read_torchtitan_parameters(std::string_view line, TrainingLog& log) {
  if (!contains(line, "total parameters")) return;
  set_parameters(number_behind(line, "size:"), 1.0, log);
}

// "rank (1, 0): 210753280"
void read_parameters_on_rank(std::string_view line, TrainingLog& log) {
  constexpr std::string_view kLabel = "number of parameters on (tensor, pipeline) model parallel";
  const auto rest = behind(line, kLabel);
  if (!rest) return;
  const auto tensor = count_behind(*rest, "(");
  const auto pipeline = count_behind(*rest, ",");
  const auto number = positive_behind(*rest, "):");
  if (!tensor || !pipeline || !number || *number > kMostParameters) return;
  log.parameters_on_rank[{*tensor, *pipeline}] = *number;
}

void read_parameters(std::string_view line, TrainingLog& log) {
  read_torchtitan_parameters(line, log);
  read_parameters_on_rank(line, log);
  // Megatron-LM, and DeepSpeed's pipeline engine, which counts tied layers once here.
  set_parameters(number_behind(line, "Total number of parameters in billions:"), 1e9, log);
  set_parameters(number_behind(line, "UNIQUE_PARAMS="), 1.0, log);
  if (const auto rest = behind(line, "number parameters:")) {  // MaxText: "405.853 billion"
    if (contains(*rest, "billion")) set_parameters(number_at(*rest), 1e9, log);
  }
  if (const auto rest = behind(line, "Total number of parameters:")) {  // nanotron
    const auto number = number_at(*rest);
    set_parameters(number ? std::optional(with_giga(*number, *rest)) : number, 1.0, log);
  }
}

bool begins_a_word(std::string_view line, std::size_t at) {
  if (at == 0) return true;
  const char before = line[at - 1];
  return before != '_' && std::isalnum(static_cast<unsigned char>(before)) == 0;
}

// "  seq_length ............... 4096" of Megatron-LM's argument block.
std::optional<int> argument_of_block(std::string_view line) {
  constexpr std::string_view kLabel = "seq_length ..";
  const std::size_t at = line.find(kLabel);
  if (at == std::string_view::npos || !begins_a_word(line, at)) return std::nullopt;
  const std::size_t dots = line.find(' ', at + kLabel.size());
  return dots == std::string_view::npos ? std::nullopt : count_behind(line.substr(dots), " ");
}

// Tokens over samples, both counted from the beginning: whole unless the length has changed.
std::optional<int> length_of_consumed(std::string_view line) {
  const auto samples = positive_behind(line, "consumed samples:");
  const auto tokens = positive_behind(line, "consumed tokens:");
  if (!samples || !tokens) return std::nullopt;
  const double length = *tokens / *samples;
  if (length < 1.0 || length > 1e9 || length != std::floor(length)) return std::nullopt;
  return static_cast<int>(length);
}

void read_seq_length(std::string_view line, TrainingLog& log) {
  std::optional<int> length = argument_of_block(line);
  if (!length) length = length_of_consumed(line);
  for (const char* label :
       {"actual seq length:", "actual seqlen:", "Config param max_target_length:"}) {
    if (const auto said = count_behind(line, label)) length = said;
  }
  if (contains(line, "batch size")) {  // torchtitan, before its first step
    if (const auto said = count_behind(line, "sequence length ")) length = said;
  }
  if (length && *length > 0) log.seq_length = length;
}

// The text between two labels.
std::optional<std::string> between(std::string_view line, std::string_view from,
                                   std::string_view to) {
  const auto rest = behind(line, from);
  if (!rest) return std::nullopt;
  const std::size_t end = rest->find(to);
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  return trimmed_right(rest->substr(0, end));
}

// torchtitan; nvidia-smi -L; Lightning.
void read_device(std::string_view line, TrainingLog& log) {
  if (log.device) return;
  log.device = between(line, "CUDA capacity:", " with ");
  if (!log.device) log.device = between(line, "GPU capacity:", " with ");  // OLMo-core
  if (!log.device) log.device = between(line, "GPU 0:", " (UUID:");
  if (!log.device) log.device = between(line, "using a CUDA device ('", "')");
}

// Hugging Face's Trainer, MaxText and torchtitan say the batch of all devices once.
void read_stated_batch(std::string_view line, TrainingLog& log) {
  for (const char* label :
       {"Total train batch size (w. parallel, distributed & accumulation) =",
        "Config param global_batch_size_to_train_on:", ", global batch size "}) {
    const auto batch = count_behind(line, label);
    if (batch && *batch > 0) log.global_batch_size = batch;
  }
}

}  // namespace

void read_run_facts(std::string_view line, TrainingLog& log) {
  read_stated_batch(line, log);
  read_parameters(line, log);
  read_seq_length(line, log);
  read_device(line, log);
}

}  // namespace meshwright::interop
