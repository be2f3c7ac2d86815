// SPDX-License-Identifier: Apache-2.0
// A stream that writes into memory.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace meshwright::app {

class MemoryStream {
 public:
  MemoryStream() = default;
  ~MemoryStream() {
    if (stream_ != nullptr) std::fclose(stream_);
    std::free(data_);
  }
  MemoryStream(const MemoryStream&) = delete;
  MemoryStream& operator=(const MemoryStream&) = delete;

  [[nodiscard]] std::FILE* stream() const { return stream_; }
  [[nodiscard]] std::string content() const {
    std::fflush(stream_);
    return {data_, size_};
  }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* stream_ = ::open_memstream(&data_, &size_);
};

}  // namespace meshwright::app
