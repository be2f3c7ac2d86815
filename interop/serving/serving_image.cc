// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/serving_image.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

namespace meshwright::interop {
namespace {

// Releases of Dynamo, by which its images are tagged, with the engines inside (its
// docs/reference/compatibility of 2026-10).
struct DynamoRelease {
  std::string_view tag, vllm, sglang, tensorrt_llm;
};
constexpr std::array kDynamoReleases{DynamoRelease{"0.7.1", "0.11.0", "0.5.4", "1.2.0rc3"},
                                     DynamoRelease{"0.8.1", "0.12.0", "0.5.6", "1.2.0rc6"},
                                     DynamoRelease{"0.9.1", "0.14.1", "0.5.8", "1.3.0rc3"},
                                     DynamoRelease{"1.0.2", "0.16.0", "0.5.9", "1.3.0rc5"},
                                     DynamoRelease{"1.1.1", "0.19.0", "0.5.10", "1.3.0rc11"},
                                     DynamoRelease{"1.2.1", "0.20.1", "0.5.11", "1.3.0rc14"},
                                     DynamoRelease{"1.3.1", "0.23.0", "0.5.14", "1.3.0rc19"},
                                     DynamoRelease{"1.4.2", "0.26.0", "0.5.16", "1.3.0rc22"},
                                     DynamoRelease{"1.5.1", "0.28.0", "0.5.18", "1.3.0rc25"},
                                     DynamoRelease{"1.6.1", "0.31.0", "0.5.21", "1.3.0rc29"}};

std::string_view engine_in(const DynamoRelease& release, EngineKind engine) {
  if (engine == EngineKind::vllm) return release.vllm;
  return engine == EngineKind::sglang ? release.sglang : release.tensorrt_llm;
}

// The first three numbers; none: not a published version.
std::optional<std::array<int, 3>> version_numbers(std::string_view version) {
  std::array<int, 3> numbers{};
  const char *at = version.data(), *const end = at + version.size();
  for (int& number : numbers) {
    const auto [stopped, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    if (stopped == end || *stopped != '.') break;
    at = stopped + 1;
  }
  return numbers;
}

// Tags have three numbers. TensorRT-LLM 1.3 is published as candidates alone (2026-10).
std::string image_tag(const ServingLaunch& launch) {
  const auto numbers = version_numbers(launch.engine_version);
  if (!numbers) return "latest";
  const auto [major, minor, patch] = *numbers;
  const bool candidate =
      launch.engine == EngineKind::tensorrt_llm && *numbers == std::array{1, 3, 0};
  const char* v = launch.engine == EngineKind::tensorrt_llm ? "" : "v";
  return fmt::format("{}{}.{}.{}{}", v, major, minor, patch, candidate ? "rc29" : "");
}

}  // namespace

// vLLM docs/getting_started/installation: a repository for each kind of device. SGLang's tags of
// AMD's GPUs name ROCm and the GPU; 0.5.9 was the first for ROCm 7.2.
std::string engine_image(const ServingLaunch& launch, const ServingHosts& hosts) {
  const std::string tag = image_tag(launch);
  if (launch.engine == EngineKind::tensorrt_llm) {
    return "nvcr.io/nvidia/tensorrt-llm/release:" + tag;
  }
  if (launch.engine == EngineKind::sglang) {
    if (hosts.device != ServedDevice::amd_gpu) return "lmsysorg/sglang:" + tag;
    const bool older = version_numbers(launch.engine_version) < std::array{0, 5, 9};
    return fmt::format("lmsysorg/sglang:{}-rocm{}-mi{}x", tag, older ? 700 : 720,
                       hosts.cdna4 ? 35 : 30);
  }
  if (hosts.device == ServedDevice::core) {
    return "public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:" + tag;
  }
  return (hosts.device == ServedDevice::amd_gpu ? "vllm/vllm-openai-rocm:" : "vllm/vllm-openai:") +
         tag;
}

DynamoImage dynamo_image(const ServingLaunch& launch) {
  const auto wanted = version_numbers(launch.engine_version);
  const DynamoRelease* found = wanted ? &kDynamoReleases.front() : &kDynamoReleases.back();
  for (const DynamoRelease& one : kDynamoReleases) {
    if (wanted && version_numbers(engine_in(one, launch.engine)) <= wanted) found = &one;
  }
  const char* runtime = launch.engine == EngineKind::vllm     ? "vllm"
                        : launch.engine == EngineKind::sglang ? "sglang"
                                                              : "tensorrtllm";
  return {fmt::format("nvcr.io/nvidia/ai-dynamo/{}-runtime:{}", runtime, found->tag),
          std::string(found->tag), std::string(engine_in(*found, launch.engine))};
}

}  // namespace meshwright::interop
