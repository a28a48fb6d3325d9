// FileSystem over POSIX calls. Locks are flock: the kernel lets go of them when their process dies.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu/cache/disk_cache.h"

namespace tilevm::gpu {
namespace {

absl::Status Errno(absl::string_view what, const std::string& path) {
  const int error = errno;
  return absl::ErrnoToStatus(error, absl::StrCat(what, " ", path));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

class Posix : public FileSystem {
 public:
  absl::StatusOr<std::string> Read(const std::string& path, int64_t max_bytes) override {
    Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) return Errno("open", path);
    struct stat info;
    if (fstat(file.get(), &info) != 0) return Errno("stat", path);
    if (!S_ISREG(info.st_mode)) return absl::FailedPreconditionError(absl::StrCat(path, " is no regular file"));
    if (info.st_size > max_bytes) return absl::ResourceExhaustedError(absl::StrCat(path, " is larger than ", max_bytes, " bytes"));
    std::string bytes(static_cast<size_t>(info.st_size), '\0');
    size_t at = 0;
    while (at < bytes.size()) {
      const ssize_t count = read(file.get(), bytes.data() + at, bytes.size() - at);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return Errno("read", path);
      if (count == 0) break;  // it became shorter: the checksum will tell
      at += static_cast<size_t>(count);
    }
    bytes.resize(at);
    return bytes;
  }

  absl::Status Write(const std::string& path, absl::string_view bytes) override {
    Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (file.get() < 0) return Errno("create", path);
    while (!bytes.empty()) {
      const ssize_t count = write(file.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return Errno("write", path);
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    // Some file systems report a full disk only here.
    if (close(file.release()) != 0) return Errno("close", path);
    return absl::OkStatus();
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    return rename(from.c_str(), to.c_str()) == 0 ? absl::OkStatus() : Errno("rename", from);
  }

  absl::Status Remove(const std::string& path) override { return unlink(path.c_str()) == 0 ? absl::OkStatus() : Errno("remove", path); }

  absl::Status MakeDirectories(const std::string& path) override {
    for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
      const std::string part = path.substr(0, slash);
      if (mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
        // A read-only parent answers EROFS or EACCES for a folder that is there.
        struct stat info;
        if (stat(part.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return absl::ErrnoToStatus(EACCES, absl::StrCat("make folder ", part));
      }
      if (slash == std::string::npos) return absl::OkStatus();
    }
  }

  absl::Status Touch(const std::string& path) override {
    return utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0 ? absl::OkStatus() : Errno("touch", path);
  }

  absl::StatusOr<std::vector<Entry>> List(const std::string& directory) override {
    std::vector<Entry> out;
    absl::StatusOr<std::vector<std::string>> folders = Names(directory);
    if (!folders.ok()) {
      if (absl::IsNotFound(folders.status())) return out;
      return folders.status();
    }
    for (const std::string& folder : *folders) {
      absl::StatusOr<std::vector<std::string>> names = Names(absl::StrCat(directory, "/", folder));
      if (!names.ok()) continue;  // a file, or gone meanwhile
      for (const std::string& name : *names) {
        Entry entry{absl::StrCat(directory, "/", folder, "/", name), 0, 0};
        struct stat info;
        if (lstat(entry.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
        entry.bytes = info.st_size;
        entry.last_use = info.st_mtime;
        out.push_back(std::move(entry));
      }
    }
    return out;
  }

  absl::StatusOr<std::shared_ptr<void>> Lock(const std::string& path, int64_t milliseconds) override {
    Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (file.get() < 0) return Errno("open", path);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    for (int64_t wait = 1; flock(file.get(), LOCK_EX | LOCK_NB) != 0; wait = std::min<int64_t>(wait * 2, 20)) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return Errno("lock", path);
      if (std::chrono::steady_clock::now() >= deadline) return absl::UnavailableError(absl::StrCat(path, " is held by another process"));
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
    }
    return std::shared_ptr<void>(new int(file.release()), [](void* fd) {
      close(*static_cast<int*>(fd));
      delete static_cast<int*>(fd);
    });
  }

 private:
  static absl::StatusOr<std::vector<std::string>> Names(const std::string& directory) {
    DIR* handle = opendir(directory.c_str());
    if (handle == nullptr) return Errno("open folder", directory);
    std::vector<std::string> names;
    while (const dirent* entry = readdir(handle)) {
      if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) names.push_back(entry->d_name);
    }
    closedir(handle);
    return names;
  }
};

}  // namespace

std::shared_ptr<FileSystem> PosixFileSystem() { return std::make_shared<Posix>(); }

}  // namespace tilevm::gpu
