// SPDX-License-Identifier: Apache-2.0
#include "calibrate/latent_attention_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "calibrate/bench/sample_data.h"
#include "calibrate/serving_bench_parts.h"
#include "calibrate/trial/serving/paged_latent_attention.h"

namespace meshwright::calibrate {
namespace {

// One layer's attention of a rank's heads over a cache of latents, the products with the up
// projection among it; caches and up projections of several layers take turns.
class PagedLatentBench final : public Bench {
 public:
  PagedLatentBench(Compute& compute, Communicator& world, const PagedAttentionShape& shape)
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
        num_layers_(layers()),
        cache_(context_, static_cast<std::int64_t>(num_layers_),
               shape.sequences * served_blocks(shape_),
               {1, shape.latent_rank, shape.rotary_dim, kServedBlock}) {
    const std::int64_t rows = context_.positions;
    query_ = sample(rows * shape.heads * key_width(), 1);
    latent_ = sample(rows * shape.latent_rank, 2);
    rotary_ = sample(rows * shape.rotary_dim, 3);
    for (std::size_t i = 0; i < num_layers_; ++i) ups_.push_back(sample(up_count(), 4));
    fill_cache();
  }

  std::string check() override {
    const std::vector<float> out = downloaded(context_, attend(0));
    // The last row of the last sequence and head sees every key.
    const auto first = out.size() - static_cast<std::size_t>(shape_.value_dim);
    for (const std::int64_t column : {std::int64_t{0}, shape_.value_dim - 1}) {
      const double is = out[first + static_cast<std::size_t>(column)];
      const double expected = reference(column);
      if (std::abs(is - expected) > served_tolerance(job_) * std::max(1.0, std::abs(expected))) {
        return fmt::format("latent attention: {} where {} was expected", is, expected);
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

 private:
  [[nodiscard]] std::int64_t key_width() const { return shape_.head_dim + shape_.rotary_dim; }
  [[nodiscard]] std::int64_t of_head() const { return shape_.head_dim + shape_.value_dim; }
  [[nodiscard]] std::int64_t up_count() const {
    return shape_.latent_rank * shape_.heads * of_head();
  }
  [[nodiscard]] std::size_t layers() const {
    const std::int64_t numbers =
        shape_.sequences * served_blocks(shape_) * kServedBlock * shape_.cached_numbers() +
        up_count();
    return std::min(kMostCachesInTurn,
                    cold_copies(bytes(4.0 * static_cast<double>(numbers)), compute_.describe()));
  }
  [[nodiscard]] Tensor sample(std::int64_t count, unsigned stream) const {
    return served_sample(context_, count, stream);
  }
  void fill_cache() {
    recorder_.begin_step();
    tables_ = served_tables(shape_);
    rows_ = served_rows(shape_, tables_);
    if (shape_.cached == 0) return;
    cached_latent_ = sample(shape_.cached * shape_.latent_rank, 5);
    cached_rotary_ = sample(shape_.cached * shape_.rotary_dim, 6);
    for (std::size_t layer = 0; layer < num_layers_; ++layer) {
      for (const BlockTable& table : tables_) {
        const SequenceRows all{0, shape_.cached, 0, &table};
        cache_.store(layer, all, cached_latent_.data(), cached_rotary_.data(), 0);
      }
    }
    compute_.synchronize();
  }
  [[nodiscard]] Tensor attend(std::size_t layer) const {
    const LatentHeads heads{.heads = shape_.heads,
                            .rank = shape_.latent_rank,
                            .plain = shape_.head_dim,
                            .turned = shape_.rotary_dim,
                            .value = shape_.value_dim,
                            .key_value_up = ups_[layer].data()};
    return attend_latents(context_, heads, {query_, latent_, rotary_}, rows_, cache_, layer);
  }

  // Of the last row and head, in double precision, with keys and values made from the latents.
  [[nodiscard]] double reference(std::int64_t column) const {
    const std::vector<float> query = downloaded(context_, query_),
                             up = downloaded(context_, ups_[0]);
    const std::vector<float> own_latent = downloaded(context_, latent_);
    const std::vector<float> own_rotary = downloaded(context_, rotary_);
    std::vector<float> cached_latent, cached_rotary;
    if (shape_.cached > 0) {
      cached_latent = downloaded(context_, cached_latent_);
      cached_rotary = downloaded(context_, cached_rotary_);
    }
    const auto at = [](const std::vector<float>& numbers, std::int64_t i) {
      return static_cast<double>(numbers[static_cast<std::size_t>(i)]);
    };
    const std::int64_t first_own = context_.positions - shape_.rows;
    const auto number = [&](const std::vector<float>& own, const std::vector<float>& cached,
                            std::int64_t width, std::int64_t position, std::int64_t i) {
      if (position < shape_.cached) return at(cached, position * width + i);
      return at(own, (first_own + position - shape_.cached) * width + i);
    };
    // A column of the last head's share of the up projection, times a latent.
    const auto made = [&](std::int64_t position, std::int64_t i) {
      double sum = 0;
      const std::int64_t columns = shape_.heads * of_head();
      for (std::int64_t r = 0; r < shape_.latent_rank; ++r) {
        sum += number(own_latent, cached_latent, shape_.latent_rank, position, r) *
               at(up, r * columns + columns - of_head() + i);
      }
      return sum;
    };
    const auto last = static_cast<std::int64_t>(query.size()) - key_width();
    double sum = 0, result = 0;
    for (std::int64_t p = 0; p < shape_.cached + shape_.rows; ++p) {
      double score = 0;
      for (std::int64_t i = 0; i < shape_.head_dim; ++i) score += at(query, last + i) * made(p, i);
      for (std::int64_t i = 0; i < shape_.rotary_dim; ++i) {
        score += at(query, last + shape_.head_dim + i) *
                 number(own_rotary, cached_rotary, shape_.rotary_dim, p, i);
      }
      const double weight = std::exp(score / std::sqrt(static_cast<double>(key_width())));
      sum += weight;
      result += weight * made(p, shape_.head_dim + column);
    }
    return result / sum;
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
  std::vector<Tensor> ups_;  // of the layers in turn
  Tensor query_, latent_, rotary_, cached_latent_, cached_rotary_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Bench> make_latent_attention_bench(Compute& compute, Communicator& world,
                                                   const PagedAttentionShape& shape) {
  return std::make_unique<PagedLatentBench>(compute, world, shape);
}

}  // namespace meshwright::calibrate
