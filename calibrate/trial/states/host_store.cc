// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/states/host_store.h"

#include <algorithm>
#include <cmath>

namespace meshwright::calibrate {
namespace {

std::int64_t words_of(const Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.size() / sizeof(float));
}

std::size_t size_of(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); }

// Does Compute::adam on the host's own memory (Kingma 2015, arXiv 1412.6980, algorithm 1; the
// efficient order at the end of its section 2).
void adam(const HostStates& s, std::int64_t count, const AdamStep& step) {
  const auto t = static_cast<double>(step.step);
  const auto scale = static_cast<float>(step.learning_rate / (1.0 - std::pow(step.beta1, t)));
  const auto correction = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(step.beta2, t)));
  const float decay = 1.0F - step.learning_rate * step.weight_decay;
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = s.gradient[i];
    s.exp_avg[i] = step.beta1 * s.exp_avg[i] + (1.0F - step.beta1) * g;
    s.exp_avg_sq[i] = step.beta2 * s.exp_avg_sq[i] + (1.0F - step.beta2) * g * g;
    s.weight[i] = decay * s.weight[i] -
                  scale * s.exp_avg[i] / (std::sqrt(s.exp_avg_sq[i]) * correction + step.epsilon);
  }
}

}  // namespace

HostStore::~HostStore() {
  for (float* block : blocks_) compute_.release_host(block);
}

float* HostStore::take(std::int64_t count) {
  const auto found = free_.find(count);
  if (found != free_.end()) {
    float* block = found->second;
    free_.erase(found);
    return block;
  }
  blocks_.push_back(static_cast<float*>(compute_.allocate_host(size_of(count))));
  return blocks_.back();
}

void HostStore::send(float* host, const void* device, std::int64_t count) {
  compute_.start_download(host, device, size_of(count));
  to_host_ += size_of(count);
}

void HostStore::fetch(void* device, const float* host, std::int64_t count) {
  compute_.upload(device, host, size_of(count));
  to_device_ += size_of(count);
}

// Later work of the device may reuse the tensor's memory: it runs after the copy.
std::vector<HostCopy> HostStore::put(const std::vector<Tensor*>& parts) {
  const TermScope scope(recorder_, TermKind::offload, "activations to the host");
  std::vector<HostCopy> copies;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Tensor& tensor = *parts[i];
    if (tensor.empty()) continue;
    copies.push_back({i, take(words_of(tensor)), tensor.count(), tensor.format()});
    send(copies.back().host, tensor.numbers().data, words_of(tensor));
    tensor.release();
  }
  return copies;
}

void HostStore::bring_back(const std::vector<Tensor*>& parts, std::vector<HostCopy>& copies) {
  const TermScope scope(recorder_, TermKind::offload, "activations from the host");
  for (const HostCopy& copy : copies) {
    Tensor& tensor = *parts[copy.part];
    tensor = Tensor(arena_, copy.count, copy.format);
    fetch(tensor.numbers().data, copy.host, words_of(tensor));
    give(copy.host, words_of(tensor));
  }
  copies.clear();
}

// Master weights are copied once; moments begin at zero.
void HostStore::make(HostStates& states, const float* weight, std::int64_t count) {
  for (float** array : {&states.weight, &states.gradient, &states.exp_avg, &states.exp_avg_sq}) {
    *array = take(count);
  }
  compute_.download(states.weight, weight, size_of(count));
  std::fill_n(states.exp_avg, count, 0.0F);
  std::fill_n(states.exp_avg_sq, count, 0.0F);
}

void HostStore::update(HostStates& states, float* weight, const float* gradient, std::int64_t count,
                       const AdamStep& step) {
  if (states.weight == nullptr) make(states, weight, count);
  send(states.gradient, gradient, count);
  compute_.synchronize();
  adam(states, count, step);
  fetch(weight, states.weight, count);
}

}  // namespace meshwright::calibrate
