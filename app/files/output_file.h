// SPDX-License-Identifier: Apache-2.0
// How results are written. A regular file is written beside its name and renamed, so that it is
// whole or not there; a symbolic link stays and its target is replaced; a device or a pipe is
// written to. "-" is standard output.
#pragma once

#include <filesystem>
#include <string>

namespace meshwright::app {

// Throws SystemError when the write fails.
void write_file_atomically(const std::string& path, const std::string& content);

// Fails now, before hours of work, when `path` could not be written later: throws InputError.
// Creates nothing.
void check_writable(const std::string& path);
// The same, and refuses a path that exists: for what must never replace an older file.
void check_new_file(const std::string& path);

// Tells whether what is written to `path` can be read there again: no device, no pipe, not "-".
bool is_kept(const std::string& path);

// Tells whether `path` is there and newer than `begin`, so that no message names an older run's
// file.
bool written_since(const std::string& path, std::filesystem::file_time_type begin);

// Tells whether what is written to one would be in the other, through links and other spellings. A
// device such as /dev/null keeps nothing, so it is no file.
bool same_file(const std::string& a, const std::string& b);

}  // namespace meshwright::app
