// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/log_memory.h"

#include <algorithm>
#include <array>

#include "interop/logs/log_numbers.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr double kMebibyte = 1'048'576.0;
constexpr double kGibibyte = 1024.0 * kMebibyte;

enum class Peak { allocated, reserved };

struct MemoryLabel {
  std::string_view line;  // what the line has besides; empty: nothing
  std::string_view label;
  double unit;
  Peak peak;
};

constexpr std::array kMemoryLabels{
    // Megatron-LM
    MemoryLabel{"memory (MB)", "max allocated", kMebibyte, Peak::allocated},
    MemoryLabel{"memory (MB)", "max reserved", kMebibyte, Peak::reserved},
    // Primus: of the whole device, which little besides the allocator uses
    MemoryLabel{"", "hip mem usage/free/total/usage_ratio", kGibibyte, Peak::reserved},
    // DeepSpeed
    MemoryLabel{"", "MaxMemAllocated", kGibibyte, Peak::allocated},
    // nanotron
    MemoryLabel{"", "Peak allocated", kMebibyte, Peak::allocated},
    MemoryLabel{"", "Peak reserved", kMebibyte, Peak::reserved},
    // torchtitan
    MemoryLabel{"tps:", "memory:", kGibibyte, Peak::reserved},
    // Composer
    MemoryLabel{"", "memory/peak_allocated_mem", 1e9, Peak::allocated},
    MemoryLabel{"", "memory/peak_reserved_mem", 1e9, Peak::reserved},
    // NeMo 2.0
    MemoryLabel{"train_step_timing", "max_memory_allocated", 1.0, Peak::allocated},
    MemoryLabel{"train_step_timing", "peak_memory_usage", 1.0, Peak::allocated},
    MemoryLabel{"train_step_timing", "max_memory_reserved", 1.0, Peak::reserved},
    // NeMo AutoModel
    MemoryLabel{"/gpu)", "| mem", kGibibyte, Peak::allocated},
    // OLMo-core: tensors in use, and blocks that streams still hold
    MemoryLabel{"GPU active mem", "(GiB)=", kGibibyte, Peak::allocated},
    MemoryLabel{"GPU reserved mem", "(GiB)=", kGibibyte, Peak::reserved},
    // OLMo
    MemoryLabel{"", "Peak GPU Memory (MB)=", 1e6, Peak::allocated},
    // axolotl, in the spellings of three years
    MemoryLabel{"", "memory/max_allocated (GiB)", kGibibyte, Peak::allocated},
    MemoryLabel{"", "memory/max_mem_allocated(gib)", kGibibyte, Peak::allocated},
    MemoryLabel{"", "memory/max_memory_allocated", kGibibyte, Peak::allocated},
    MemoryLabel{"", "memory/device_reserved (GiB)", kGibibyte, Peak::reserved},
    MemoryLabel{"", "memory/device_mem_reserved(gib)", kGibibyte, Peak::reserved},
    MemoryLabel{"", "memory/device_memory_reserved", kGibibyte, Peak::reserved},
    // ms-swift
    MemoryLabel{"train_speed", "memory(GiB)", kGibibyte, Peak::reserved},
    // torchtune
    MemoryLabel{"tokens_per_second_per_gpu", "peak_memory_alloc", kGibibyte, Peak::allocated},
    MemoryLabel{"tokens_per_second_per_gpu", "peak_memory_reserved", kGibibyte, Peak::reserved},
};

constexpr double kMostMemory = 1e15;

}  // namespace

void read_peak_memory(std::string_view line, TrainingLog& log) {
  for (const MemoryLabel& known : kMemoryLabels) {
    if (!known.line.empty() && !contains(line, known.line)) continue;
    const auto amount = positive_value(line, known.label);
    if (!amount || *amount * known.unit > kMostMemory) continue;
    std::optional<Bytes>& peak =
        known.peak == Peak::allocated ? log.peak_allocated : log.peak_reserved;
    peak = std::max(peak.value_or(bytes(0)), bytes(*amount * known.unit));
  }
}

}  // namespace meshwright::interop
