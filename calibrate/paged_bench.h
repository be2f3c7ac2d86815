// SPDX-License-Identifier: Apache-2.0
// Base of the benches of one layer's attention over a paged cache. Caches of several layers take
// turns, so that none is in the processor's cache when it is read again.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/bench/bench.h"
#include "calibrate/serving_bench_parts.h"

namespace meshwright::calibrate {

class PagedBench : public Bench {
 public:
  std::string check() override {
    const std::vector<float> out = downloaded(context_, attend(0));
    // The last row of the last sequence and head sees every key.
    const std::int64_t width = value_width();
    const auto first = out.size() - static_cast<std::size_t>(width);
    for (const std::int64_t column : {std::int64_t{0}, width - 1}) {
      const double is = out[first + static_cast<std::size_t>(column)];
      const double expected = reference(column);
      if (std::abs(is - expected) > served_tolerance(job_) * std::max(1.0, std::abs(expected))) {
        return fmt::format("{}: {} where {} was expected", name(), is, expected);
      }
    }
    return "";
  }
  void start(int repetitions) override {
    for (int i = 0; i < repetitions; ++i) {
      (void)attend(next_);
      next_ = (next_ + 1) % num_layers_;
    }
  }

 protected:
  // `layer_numbers`: numbers that the attention of one layer reads.
  PagedBench(Compute& compute, Communicator& world, const PagedAttentionShape& shape,
             std::int64_t layer_numbers, const PageShape& pages)
      : Bench(compute),
        shape_(shape),
        alone_(world.split(world.rank(), 0)),
        model_(served_model(shape)),
        job_(served_job(compute)),
        arena_(compute),
        recorder_(compute),
        groups_(layout_, *alone_, recorder_, {compute, arena_, message_formats(job_)}),
        context_{model_, job_,      layout_, compute_,
                 arena_, recorder_, groups_, shape.sequences * shape.rows},
        num_layers_(std::min(
            kMostCachesInTurn,
            cold_copies(bytes(4.0 * static_cast<double>(layer_numbers)), compute.describe()))),
        cache_(context_, static_cast<std::int64_t>(num_layers_),
               shape.sequences * served_blocks(shape), pages) {}

  [[nodiscard]] virtual const char* name() const = 0;
  [[nodiscard]] virtual std::int64_t value_width() const = 0;
  [[nodiscard]] virtual Tensor attend(std::size_t layer) const = 0;
  // A column of the last row and head, in double precision.
  [[nodiscard]] virtual double reference(std::int64_t column) const = 0;

  [[nodiscard]] Tensor sample(std::int64_t count, unsigned stream) const {
    return served_sample(context_, count, stream);
  }
  void begin_sequences() {
    recorder_.begin_step();
    tables_ = served_tables(shape_);
    rows_ = served_rows(shape_, tables_);
  }
  // Puts keys and values of the cached positions into every layer and sequence.
  void fill_cache(const Tensor& keys, const Tensor& values, std::int64_t from_stride) {
    for (std::size_t layer = 0; layer < num_layers_; ++layer) {
      for (const BlockTable& table : tables_) {
        const SequenceRows all{0, shape_.cached, 0, &table};
        cache_.store(layer, all, keys.data(), values.data(), from_stride);
      }
    }
    compute_.synchronize();
  }

  PagedAttentionShape shape_;
  std::unique_ptr<Communicator> alone_;
  Model model_;
  Layout layout_{};
  Job job_;
  Arena arena_;
  Recorder recorder_;
  RankGroups groups_;
  TrialContext context_;
  std::size_t num_layers_;
  PagedCache cache_;
  std::vector<BlockTable> tables_;
  std::vector<SequenceRows> rows_;

 private:
  std::size_t next_ = 0;
};

}  // namespace meshwright::calibrate
