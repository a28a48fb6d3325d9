// A directory of compiled things by content key: many processes, many machines on one file system, any of them dying at any time.
//
// One immutable file per entry, <dir>/<2 hex>/<62 hex>, with a checksummed header; it is written under a temporary name and renamed, so a reader
// sees a whole entry or none. A damaged, short or foreign file is a miss (and is removed where we may). Nothing here is ever an error for the
// caller: a full disk, a read-only or vanished directory, a stale handle all degrade to "not cached", with one warning for each kind.
//
// Read-only lower layers are asked after the directory itself. Eviction is by last use: when the entries exceed max_bytes, the oldest go until
// they are below nine tenths of it. Lock serialises the makers of one key on this machine, so that eight processes starting cold compile a kernel
// once; it expires, and a maker that could not get it goes on alone.
#ifndef TILEVM_GPU_CACHE_DISK_CACHE_H_
#define TILEVM_GPU_CACHE_DISK_CACHE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tilevm::gpu {

using CacheKey = std::array<uint8_t, 32>;  // a SHA-256
std::string KeyHex(const CacheKey& key);

// What the cache needs of a file system; the tests put a faulty one in its place.
class FileSystem {
 public:
  struct Entry {
    std::string path;
    int64_t bytes = 0;
    int64_t last_use = 0;  // seconds
  };
  virtual ~FileSystem() = default;
  virtual absl::StatusOr<std::string> Read(const std::string& path, int64_t max_bytes) = 0;   // kNotFound if there is no such file
  virtual absl::Status Write(const std::string& path, absl::string_view bytes) = 0;           // creates; fails if it exists
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status Remove(const std::string& path) = 0;
  virtual absl::Status MakeDirectories(const std::string& path) = 0;
  virtual absl::Status Touch(const std::string& path) = 0;                                    // last_use = now
  virtual absl::StatusOr<std::vector<Entry>> List(const std::string& directory) = 0;          // regular files in <directory>/*/*
  // An exclusive lock held until the returned object dies, or the process does. kUnavailable if it is not free within the time.
  virtual absl::StatusOr<std::shared_ptr<void>> Lock(const std::string& path, int64_t milliseconds) = 0;
};
std::shared_ptr<FileSystem> PosixFileSystem();

struct DiskCacheOptions {
  std::string directory;                    // "" : nothing is written
  std::vector<std::string> lower_layers;    // read only
  int64_t max_bytes = int64_t{1} << 30;
  int64_t max_entry_bytes = int64_t{256} << 20;
  int64_t lock_milliseconds = 30'000;       // longer than any compilation
  std::shared_ptr<FileSystem> file_system;  // null: PosixFileSystem()
  std::function<void(absl::string_view)> warn;
};

class DiskCache {
 public:
  explicit DiskCache(DiskCacheOptions options);

  std::optional<std::string> Get(const CacheKey& key);
  void Put(const CacheKey& key, absl::string_view bytes);
  // To be held while the value of `key` is made; ask Get again after it. Null where the lock cannot be had: go on without.
  std::shared_ptr<void> Lock(const CacheKey& key);

  struct Statistics {
    int64_t entries = 0, bytes = 0, hits = 0, misses = 0;
    std::vector<std::string> damaged;  // their paths
  };
  absl::StatusOr<Statistics> Scan(bool verify);  // looks for damaged ones with verify
  absl::StatusOr<std::vector<FileSystem::Entry>> Entries();
  // Removes the entries last used longest ago until at most max_bytes are left; 0: all. Files that this cache did not name stay. Returns the bytes freed.
  absl::StatusOr<int64_t> Evict(int64_t max_bytes);
  const std::string& directory() const { return options_.directory; }
  bool keeps() const { return !options_.directory.empty() || !options_.lower_layers.empty(); }  // else every Get is a miss

 private:
  std::string PathOf(const std::string& directory, const CacheKey& key) const;
  void Warn(absl::string_view what, const absl::Status& status);

  DiskCacheOptions options_;
  std::mutex mutex_;
  std::set<std::string> warned_;
  int64_t bytes_ = -1;  // known size of the directory; -1: not yet scanned
  int64_t hits_ = 0, misses_ = 0;
};

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_CACHE_DISK_CACHE_H_
