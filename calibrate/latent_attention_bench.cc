// SPDX-License-Identifier: Apache-2.0
#include "calibrate/latent_attention_bench.h"

#include <cmath>
#include <vector>

#include "calibrate/paged_bench.h"
#include "calibrate/trial/serving/paged_latent_attention.h"

namespace meshwright::calibrate {
namespace {

// One layer's attention of a rank's heads over a cache of latents, the products with the up
// projection among it; caches and up projections of several layers take turns.
class PagedLatentBench final : public PagedBench {
 public:
  PagedLatentBench(Compute& compute, Communicator& world, const PagedAttentionShape& shape)
      : PagedBench(compute, world, shape, read_numbers(shape),
                   {1, shape.latent_rank, shape.rotary_dim, kServedBlock}) {
    const std::int64_t rows = context_.positions;
    query_ = sample(rows * shape.heads * key_width(), 1);
    latent_ = sample(rows * shape.latent_rank, 2);
    rotary_ = sample(rows * shape.rotary_dim, 3);
    for (std::size_t i = 0; i < num_layers_; ++i) ups_.push_back(sample(up_count(shape), 4));
    begin_sequences();
    if (shape_.cached == 0) return;
    cached_latent_ = sample(shape_.cached * shape_.latent_rank, 5);
    cached_rotary_ = sample(shape_.cached * shape_.rotary_dim, 6);
    fill_cache(cached_latent_, cached_rotary_, 0);
  }

 private:
  // Of the up projection, which makes keys and values of all heads from a latent.
  static std::int64_t up_count(const PagedAttentionShape& shape) {
    return shape.latent_rank * shape.heads * (shape.head_dim + shape.value_dim);
  }
  static std::int64_t read_numbers(const PagedAttentionShape& shape) {
    return shape.sequences * served_blocks(shape) * kServedBlock * shape.cached_numbers() +
           up_count(shape);
  }
  [[nodiscard]] const char* name() const override { return "latent attention"; }
  [[nodiscard]] std::int64_t value_width() const override { return shape_.value_dim; }
  [[nodiscard]] std::int64_t key_width() const { return shape_.head_dim + shape_.rotary_dim; }
  [[nodiscard]] std::int64_t of_head() const { return shape_.head_dim + shape_.value_dim; }
  [[nodiscard]] Tensor attend(std::size_t layer) const override {
    const LatentHeads heads{.heads = shape_.heads,
                            .rank = shape_.latent_rank,
                            .plain = shape_.head_dim,
                            .turned = shape_.rotary_dim,
                            .value = shape_.value_dim,
                            .key_value_up = ups_[layer].data()};
    return attend_latents(context_, heads, {query_, latent_, rotary_}, rows_, cache_, layer);
  }

  // With keys and values made from the latents.
  [[nodiscard]] double reference(std::int64_t column) const override {
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

  std::vector<Tensor> ups_;  // of the layers in turn
  Tensor query_, latent_, rotary_, cached_latent_, cached_rotary_;
};

}  // namespace

std::unique_ptr<Bench> make_latent_attention_bench(Compute& compute, Communicator& world,
                                                   const PagedAttentionShape& shape) {
  return std::make_unique<PagedLatentBench>(compute, world, shape);
}

}  // namespace meshwright::calibrate
