// Layout of an entry: "TVMC" version u32 | payload bytes u64 | XXH3-64 of the payload u64 | key 32 bytes | XXH3-64 of all before u64 | payload.
#include "gpu/cache/disk_cache.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "xxhash.h"

namespace tilevm::gpu {
namespace {

constexpr char kMagic[4] = {'T', 'V', 'M', 'C'};
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderBytes = 4 + 4 + 8 + 8 + 32 + 8;

constexpr absl::string_view kTemporary = "tilevm-tmp.";

void AppendInt(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}
uint64_t ReadInt(absl::string_view bytes, size_t at, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i) value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
  return value;
}

std::string Wrap(const CacheKey& key, absl::string_view payload) {
  std::string out(kMagic, sizeof(kMagic));
  out.reserve(kHeaderBytes + payload.size());
  AppendInt(out, kVersion, 4);
  AppendInt(out, payload.size(), 8);
  AppendInt(out, XXH3_64bits(payload.data(), payload.size()), 8);
  out.append(reinterpret_cast<const char*>(key.data()), key.size());
  AppendInt(out, XXH3_64bits(out.data(), out.size()), 8);
  out.append(payload.data(), payload.size());
  return out;
}

// The payload, if the file is whole and is of that key.
std::optional<std::string> Unwrap(const CacheKey& key, std::string file) {
  if (file.size() < kHeaderBytes || std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0) return std::nullopt;
  if (ReadInt(file, kHeaderBytes - 8, 8) != XXH3_64bits(file.data(), kHeaderBytes - 8)) return std::nullopt;
  if (ReadInt(file, 4, 4) != kVersion || ReadInt(file, 8, 8) != file.size() - kHeaderBytes) return std::nullopt;
  if (std::memcmp(file.data() + 24, key.data(), key.size()) != 0) return std::nullopt;
  if (ReadInt(file, 16, 8) != XXH3_64bits(file.data() + kHeaderBytes, file.size() - kHeaderBytes)) return std::nullopt;
  file.erase(0, kHeaderBytes);
  return file;
}

std::optional<CacheKey> KeyOfPath(absl::string_view path) {
  // .../<2 hex>/<62 hex>
  if (path.size() < 66 || path[path.size() - 63] != '/' || path[path.size() - 66] != '/') return std::nullopt;
  std::string hex = absl::StrCat(path.substr(path.size() - 65, 2), path.substr(path.size() - 62));
  for (char c : hex) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return std::nullopt;
  }
  std::string bytes = absl::HexStringToBytes(hex);
  CacheKey key;
  std::memcpy(key.data(), bytes.data(), key.size());
  return key;
}

// The name is one that this cache gives: of an entry, its lock or a temporary. What else lies in the directory belongs to someone else.
bool IsOurs(absl::string_view path) {
  const absl::string_view entry = absl::StripSuffix(path, ".lock");
  if (KeyOfPath(entry).has_value()) return true;
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  if (parts.size() < 2) return false;
  const absl::string_view folder = parts[parts.size() - 2];
  return folder.size() == 2 && folder.find_first_not_of("0123456789abcdef") == absl::string_view::npos && absl::StartsWith(parts.back(), kTemporary);
}

}  // namespace

std::string KeyHex(const CacheKey& key) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(key.data()), key.size()));
}

DiskCache::DiskCache(DiskCacheOptions options) : options_(std::move(options)) {
  if (options_.file_system == nullptr) options_.file_system = PosixFileSystem();
}

std::string DiskCache::PathOf(const std::string& directory, const CacheKey& key) const {
  const std::string hex = KeyHex(key);
  return absl::StrCat(directory, "/", hex.substr(0, 2), "/", hex.substr(2));
}

void DiskCache::Warn(absl::string_view what, const absl::Status& status) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!warned_.insert(std::string(what)).second) return;
  }
  if (options_.warn) options_.warn(absl::StrCat("kernel cache ", options_.directory, ": ", what, ": ", status.message(), "; going on without it"));
}

std::optional<std::string> DiskCache::Get(const CacheKey& key) {
  std::vector<std::string> directories;
  if (!options_.directory.empty()) directories.push_back(options_.directory);
  directories.insert(directories.end(), options_.lower_layers.begin(), options_.lower_layers.end());
  for (const std::string& directory : directories) {
    const std::string path = PathOf(directory, key);
    absl::StatusOr<std::string> file = options_.file_system->Read(path, options_.max_entry_bytes + static_cast<int64_t>(kHeaderBytes));
    if (!file.ok()) {
      if (!absl::IsNotFound(file.status())) Warn("cannot read an entry", file.status());
      continue;
    }
    if (std::optional<std::string> payload = Unwrap(key, *std::move(file))) {
      if (&directory == &directories.front() && !options_.directory.empty()) options_.file_system->Touch(path).IgnoreError();
      std::lock_guard<std::mutex> lock(mutex_);
      ++hits_;
      return payload;
    }
    Warn("an entry is damaged", absl::DataLossError(path));
    if (directory == options_.directory) options_.file_system->Remove(path).IgnoreError();
  }
  std::lock_guard<std::mutex> lock(mutex_);
  ++misses_;
  return std::nullopt;
}

void DiskCache::Put(const CacheKey& key, absl::string_view bytes) {
  if (options_.directory.empty() || static_cast<int64_t>(bytes.size()) > options_.max_entry_bytes) return;
  FileSystem& files = *options_.file_system;
  const std::string path = PathOf(options_.directory, key);
  const std::string folder = path.substr(0, path.size() - 63);
  if (absl::Status status = files.MakeDirectories(folder); !status.ok()) return Warn("cannot make the folder", status);
  // The name is unique among threads, processes and machines that share the directory: a number of a process is not.
  static std::atomic<uint64_t> counter{0};
  static const uint64_t process = uint64_t{std::random_device()()} << 32 | std::random_device()();
  const std::string temporary = absl::StrCat(folder, "/", kTemporary, getpid(), ".", absl::Hex(process), ".", counter.fetch_add(1));
  const std::string file = Wrap(key, bytes);
  files.Remove(temporary).IgnoreError();
  absl::Status status = files.Write(temporary, file);
  if (status.ok()) status = files.Rename(temporary, path);
  if (!status.ok()) {
    files.Remove(temporary).IgnoreError();
    return Warn("cannot write an entry", status);
  }
  bool full = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (bytes_ >= 0) bytes_ += static_cast<int64_t>(file.size());
    full = bytes_ < 0 || bytes_ > options_.max_bytes;
  }
  if (!full) return;
  absl::StatusOr<Statistics> found = Scan(false);
  if (!found.ok()) return;
  if (found->bytes > options_.max_bytes) Evict(options_.max_bytes / 10 * 9).IgnoreError();
}

std::shared_ptr<void> DiskCache::Lock(const CacheKey& key) {
  if (options_.directory.empty()) return nullptr;
  const std::string path = absl::StrCat(PathOf(options_.directory, key), ".lock");
  if (!options_.file_system->MakeDirectories(path.substr(0, path.rfind('/'))).ok()) return nullptr;
  absl::StatusOr<std::shared_ptr<void>> lock = options_.file_system->Lock(path, options_.lock_milliseconds);
  if (lock.ok()) return *std::move(lock);
  Warn("cannot lock an entry", lock.status());
  return nullptr;
}

absl::StatusOr<std::vector<FileSystem::Entry>> DiskCache::Entries() {
  if (options_.directory.empty()) return std::vector<FileSystem::Entry>{};
  absl::StatusOr<std::vector<FileSystem::Entry>> files = options_.file_system->List(options_.directory);
  if (!files.ok()) return files.status();
  files->erase(std::remove_if(files->begin(), files->end(), [](const FileSystem::Entry& e) { return !KeyOfPath(e.path).has_value(); }), files->end());
  return files;
}

absl::StatusOr<DiskCache::Statistics> DiskCache::Scan(bool verify) {
  absl::StatusOr<std::vector<FileSystem::Entry>> entries = Entries();
  if (!entries.ok()) return entries.status();
  Statistics out;
  for (const FileSystem::Entry& entry : *entries) {
    ++out.entries;
    out.bytes += entry.bytes;
    if (!verify) continue;
    absl::StatusOr<std::string> file = options_.file_system->Read(entry.path, options_.max_entry_bytes + static_cast<int64_t>(kHeaderBytes));
    if (!file.ok() || !Unwrap(*KeyOfPath(entry.path), *std::move(file)).has_value()) out.damaged.push_back(entry.path);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  bytes_ = out.bytes;
  out.hits = hits_;
  out.misses = misses_;
  return out;
}

absl::StatusOr<int64_t> DiskCache::Evict(int64_t max_bytes) {
  if (options_.directory.empty()) return 0;
  // Temporaries of dead processes and locks count here too, but those go only after an hour or with max_bytes 0.
  absl::StatusOr<std::vector<FileSystem::Entry>> files = options_.file_system->List(options_.directory);
  if (!files.ok()) return files.status();
  files->erase(std::remove_if(files->begin(), files->end(), [](const FileSystem::Entry& e) { return !IsOurs(e.path); }), files->end());
  std::sort(files->begin(), files->end(), [](const auto& a, const auto& b) { return a.last_use != b.last_use ? a.last_use < b.last_use : a.path < b.path; });
  int64_t total = 0, freed = 0, newest = 0;
  for (const FileSystem::Entry& file : *files) {
    total += file.bytes;
    newest = std::max(newest, file.last_use);
  }
  for (const FileSystem::Entry& file : *files) {
    const bool entry = KeyOfPath(file.path).has_value();
    const bool stale = !entry && file.last_use + 3600 < newest;
    if (!(stale || max_bytes == 0 || (entry && total > max_bytes))) continue;
    if (!options_.file_system->Remove(file.path).ok()) continue;
    total -= file.bytes;
    freed += file.bytes;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  bytes_ = total;
  return freed;
}

}  // namespace tilevm::gpu
