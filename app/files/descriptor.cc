// SPDX-License-Identifier: Apache-2.0
#include "app/files/descriptor.h"

#include <unistd.h>

#include <cerrno>

namespace meshwright::app {

Descriptor::~Descriptor() { reset(-1); }

void Descriptor::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

int Descriptor::flush() const { return ::close(::dup(fd_)) == 0 ? 0 : errno; }

int Descriptor::write_all(const std::string& content) const {
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t n = ::write(fd_, content.data() + done, content.size() - done);
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return 0;
}

}  // namespace meshwright::app
