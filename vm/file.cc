#include "vm/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tilevm::vm {
namespace {

absl::Status FileError(absl::string_view what, const std::string& path, int error) {
  const std::string message = absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM || error == EROFS) return absl::PermissionDeniedError(message);
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(message);
  return absl::UnavailableError(message);
}

absl::Status WriteAll(int fd, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return FileError("write", path, errno);
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  const int fd = path == "-" ? 0 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileError("read", path, errno);
  struct stat info;
  std::string out;
  absl::Status status;
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    if (info.st_size > max_bytes) {
      status = absl::ResourceExhaustedError(absl::StrCat(path, " has ", info.st_size, " bytes; the limit is ", max_bytes));
    } else {
      out.reserve(static_cast<size_t>(info.st_size) + 1);
    }
  }
  constexpr size_t kChunk = 1 << 20;
  while (status.ok()) {
    const size_t old = out.size();
    const size_t want = std::max(kChunk, out.capacity() - old);
    out.resize(old + want);
    const ssize_t n = ::read(fd, &out[old], want);
    out.resize(old + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status = FileError("read", path, errno);
    if (n <= 0) break;
    if (static_cast<int64_t>(out.size()) > max_bytes) status = absl::ResourceExhaustedError(absl::StrCat(path, " is longer than ", max_bytes, " bytes"));
  }
  if (fd != 0) ::close(fd);
  if (!status.ok()) return status;
  return out;
}

absl::Status WriteFile(const std::string& path, absl::Span<const absl::string_view> parts) {
  if (path == "-") {
    std::fflush(stdout);
    for (absl::string_view part : parts) {
      const absl::Status status = WriteAll(1, part, "standard output");
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  // A device or a pipe is written as it is: nothing can be renamed over it.
  struct stat info;
  const bool in_place = ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
  static std::atomic<int> number{0};
  const std::string temporary = in_place ? path : absl::StrCat(path, ".", ::getpid(), ".", number.fetch_add(1), ".tmp");
  const int fd = ::open(temporary.c_str(), in_place ? O_WRONLY | O_CLOEXEC : O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return FileError("write", path, errno);
  absl::Status status;
  for (absl::string_view part : parts) {
    if (status.ok()) status = WriteAll(fd, part, path);
  }
  if (::close(fd) != 0 && status.ok()) status = FileError("write", path, errno);
  if (in_place) return status;
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) status = FileError("write", path, errno);
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

absl::Status WriteFile(const std::string& path, absl::string_view contents) { return WriteFile(path, absl::Span<const absl::string_view>(&contents, 1)); }

}  // namespace tilevm::vm
