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
      : compute_(compute), from_(compute, whole_floats(size)), to_(compute, whole_floats(size)) {
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
  void run(int repetitions) override {
    for (int i = 0; i < repetitions; ++i) compute_.copy(to_.data(), from_.data(), to_.bytes());
    compute_.synchronize();
  }

 private:
  Compute& compute_;
  DeviceArray from_, to_;
};

class UploadBench : public Bench {
 public:
  UploadBench(Compute& compute, Bytes size)
      : compute_(compute),
        host_(sample_numbers(whole_floats(size) / sizeof(float), 1)),
        to_(compute, whole_floats(size)) {}
  std::string check() override {
    run(1);
    const bool same = downloaded(compute_, to_.floats(), host_.size()) == host_;
    return same ? "" : "upload: the device holds other numbers than the host";
  }
  void run(int repetitions) override {
    for (int i = 0; i < repetitions; ++i) compute_.upload(to_.data(), host_.data(), to_.bytes());
    compute_.synchronize();
  }

 private:
  Compute& compute_;
  std::vector<float> host_;
  DeviceArray to_;
};

class LaunchBench : public Bench {
 public:
  explicit LaunchBench(Compute& compute) : compute_(compute), number_(compute, 3 * kApart) {
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
  void run(int repetitions) override {
    float* x = number_.floats();
    for (int i = 0; i < repetitions; ++i) {
      compute_.add(x, x + kApart / sizeof(float), x + 2 * kApart / sizeof(float), 1);
    }
    compute_.synchronize();
  }

 private:
  static constexpr std::size_t kApart = 256;  // bytes, no shared cache line
  Compute& compute_;
  DeviceArray number_;
};

}  // namespace

std::unique_ptr<Bench> make_copy_bench(Compute& compute, Bytes size) {
  return std::make_unique<CopyBench>(compute, size);
}
std::unique_ptr<Bench> make_upload_bench(Compute& compute, Bytes size) {
  return std::make_unique<UploadBench>(compute, size);
}
std::unique_ptr<Bench> make_launch_bench(Compute& compute) {
  return std::make_unique<LaunchBench>(compute);
}

}  // namespace meshwright::calibrate
