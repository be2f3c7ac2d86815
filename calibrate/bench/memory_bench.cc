// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/memory_bench.h"

#include <algorithm>

#include "calibrate/bench/sample_data.h"

namespace meshwright::calibrate {
namespace {

std::size_t whole_floats(Bytes size) {
  return static_cast<std::size_t>(size.value()) / sizeof(float) * sizeof(float);
}

class CopyBench : public Bench {
 public:
  CopyBench(Compute& compute, Bytes size)
      : Bench(compute), from_(compute, whole_floats(size)), to_(compute, whole_floats(size)) {
    fill_with_sample(compute, from_, 1);
    compute.fill_zero(to_.data(), to_.bytes());
  }
  std::string check() override {
    run(1);
    const std::size_t last = to_.bytes() / sizeof(float) - 1;
    const bool same = downloaded(compute_, from_.floats() + last, 1) ==
                      downloaded(compute_, to_.floats() + last, 1);
    return same ? "" : "device copy: the last number did not arrive";
  }
  void start(int repetitions) override {
    for (int i = 0; i < repetitions; ++i) compute_.copy(to_.data(), from_.data(), to_.bytes());
  }

 private:
  DeviceArray from_, to_;
};

// Pinned memory: from pageable memory a driver copies twice, and no framework that moves
// activations or optimizer states does that.
class HostLinkBench : public Bench {
 public:
  HostLinkBench(Compute& compute, Bytes size, HostDirection direction)
      : Bench(compute),
        direction_(direction),
        numbers_(sample_numbers(whole_floats(size) / sizeof(float), 1)),
        host_(compute, whole_floats(size)),
        back_(compute, whole_floats(size)),
        to_(compute, whole_floats(size)),
        from_(compute, whole_floats(size)) {
    std::copy(numbers_.begin(), numbers_.end(), host_.floats());
    std::fill_n(back_.floats(), numbers_.size(), 0.0F);
    compute.upload(from_.data(), numbers_.data(), from_.bytes());
    compute.fill_zero(to_.data(), to_.bytes());
    compute.synchronize();
  }
  std::string check() override {
    run(1);
    if (direction_ != HostDirection::to_host &&
        downloaded(compute_, to_.floats(), numbers_.size()) != numbers_) {
      return "upload: the device holds other numbers than the host";
    }
    if (direction_ != HostDirection::to_device &&
        !std::equal(numbers_.begin(), numbers_.end(), back_.floats())) {
      return "download: the host holds other numbers than the device";
    }
    return "";
  }
  void start(int repetitions) override {
    for (int i = 0; i < repetitions; ++i) once();
  }

 private:
  void once() {
    switch (direction_) {
      case HostDirection::to_device:
        return compute_.upload(to_.data(), host_.data(), to_.bytes());
      case HostDirection::to_host:
        return compute_.start_download(back_.data(), from_.data(), from_.bytes());
      case HostDirection::both:
        return compute_.transfer_both_ways(
            {to_.data(), host_.data(), back_.data(), from_.data(), to_.bytes()});
    }
  }

  HostDirection direction_;
  std::vector<float> numbers_;
  HostArray host_, back_;
  DeviceArray to_, from_;
};

class LaunchBench : public Bench {
 public:
  explicit LaunchBench(Compute& compute) : Bench(compute), number_(compute, 3 * kApart) {
    fill_with_sample(compute, number_, 1);
  }
  std::string check() override {
    run(1);
    float* x = number_.floats();
    const float a = downloaded(compute_, x, 1)[0];
    const float b = downloaded(compute_, x + kApart / sizeof(float), 1)[0];
    const float sum = downloaded(compute_, x + 2 * kApart / sizeof(float), 1)[0];
    return sum == a + b ? "" : "the addition of one number is wrong";
  }
  void start(int repetitions) override {
    float* x = number_.floats();
    for (int i = 0; i < repetitions; ++i) {
      compute_.add(x, x + kApart / sizeof(float), x + 2 * kApart / sizeof(float), 1);
    }
  }

 private:
  static constexpr std::size_t kApart = 256;  // bytes, no shared cache line
  DeviceArray number_;
};

}  // namespace

std::unique_ptr<Bench> make_copy_bench(Compute& compute, Bytes size) {
  return std::make_unique<CopyBench>(compute, size);
}
std::unique_ptr<Bench> make_host_link_bench(Compute& compute, Bytes size, HostDirection direction) {
  return std::make_unique<HostLinkBench>(compute, size, direction);
}
std::unique_ptr<Bench> make_launch_bench(Compute& compute) {
  return std::make_unique<LaunchBench>(compute);
}

}  // namespace meshwright::calibrate
