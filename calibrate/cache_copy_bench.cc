// SPDX-License-Identifier: Apache-2.0
#include "calibrate/cache_copy_bench.h"

#include <vector>

#include "calibrate/bench/sample_data.h"
#include "calibrate/serving_bench_parts.h"
#include "calibrate/trial/serving/paged_cache.h"

namespace meshwright::calibrate {
namespace {

// Ranks 0 and 1, 2 and 3, ... hand each other a prompt's cache, as a prefill and a decode replica
// do: there and back is a repetition. The last of an odd number of ranks has nothing to do.
class CacheCopyBench final : public Bench {
 public:
  CacheCopyBench(Compute& compute, Communicator& world, const CacheCopyShape& shape)
      : Bench(compute),
        shape_(shape),
        alone_(world.split(world.rank(), 0)),
        pair_(world.split(world.rank() / 2, world.rank())),
        job_(served_job(compute)),
        arena_(compute),
        recorder_(compute),
        groups_(layout_, *alone_, recorder_, {compute, arena_, message_formats(job_)}),
        context_{model_, job_, layout_, compute_, arena_, recorder_, groups_, 1},
        cache_(context_, shape.layers, blocks(), pages()),
        copy_(context_.tensor(cache_.copy_count(shape.tokens, shape.groups))) {
    for (std::int64_t b = 0; b < blocks(); ++b) table_.push_back(static_cast<std::int32_t>(b));
  }

  // What came back is what left.
  std::string check() override {
    const std::vector<float> numbers = sample_numbers(static_cast<std::size_t>(copy_.count()), 1);
    compute_.upload(copy_.data(), numbers.data(), copy_.size());
    cache_.fill(table_, shape_.tokens, 0, shape_.groups, copy_.data());
    start(1);
    const std::vector<float> back = downloaded(context_, taken());
    return back == numbers ? "" : "cache copy: other numbers came back than were sent";
  }
  void start(int repetitions) override {
    if (pair_->size() < 2) return;
    for (int i = 0; i < repetitions; ++i) {
      for (const int sender : {0, 1}) hand_over(sender);
    }
  }
  [[nodiscard]] double units() const override { return 2.0; }

 private:
  [[nodiscard]] PageShape pages() const {
    return {shape_.groups, shape_.key_width, shape_.value_width, kServedBlock};
  }
  [[nodiscard]] std::int64_t blocks() const {
    return (shape_.tokens + kServedBlock - 1) / kServedBlock;
  }
  [[nodiscard]] Tensor taken() const {
    return cache_.copied(table_, shape_.tokens, 0, shape_.groups);
  }
  void hand_over(int sender) {
    if (pair_->rank() == sender) {
      const Tensor numbers = taken();
      compute_.synchronize();
      pair_->send(numbers.data(), numbers.count(), 1 - sender);
      pair_->wait_sends();
    } else {
      pair_->receive(copy_.data(), copy_.count(), sender);
      cache_.fill(table_, shape_.tokens, 0, shape_.groups, copy_.data());
      compute_.synchronize();
    }
  }

  CacheCopyShape shape_;
  std::unique_ptr<Communicator> alone_, pair_;
  Model model_{};
  Layout layout_{};
  Job job_;
  Arena arena_;
  Recorder recorder_;
  RankGroups groups_;
  TrialContext context_;
  PagedCache cache_;
  Tensor copy_;
  BlockTable table_;
};

}  // namespace

std::unique_ptr<Bench> make_cache_copy_bench(Compute& compute, Communicator& world,
                                             const CacheCopyShape& shape) {
  return std::make_unique<CacheCopyBench>(compute, world, shape);
}

}  // namespace meshwright::calibrate
