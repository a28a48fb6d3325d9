// The cache on a real folder, on a file system that fails in every way, and under eight processes at once.
#include "gpu/cache/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tilevm::gpu {
namespace {

CacheKey Key(int n) {
  CacheKey key{};
  key[0] = static_cast<uint8_t>(n * 37);
  key[5] = static_cast<uint8_t>(n);
  key[31] = static_cast<uint8_t>(n >> 8);
  return key;
}

std::string Folder(const char* name) {
  const char* base = std::getenv("TEST_TMPDIR");
  std::string path = absl::StrCat(base != nullptr ? base : testing::TempDir(), "/cache_", name, "_", getpid());
  return path;
}

DiskCacheOptions At(const std::string& directory) {
  DiskCacheOptions options;
  options.directory = directory;
  return options;
}

TEST(DiskCache, GivesBackWhatWasPut) {
  DiskCache cache(At(Folder("roundtrip")));
  EXPECT_EQ(cache.Get(Key(1)), std::nullopt);
  const std::string bytes("cubin\0with\xff zero", 16);
  cache.Put(Key(1), bytes);
  cache.Put(Key(2), "");
  EXPECT_EQ(cache.Get(Key(1)), bytes);
  EXPECT_EQ(cache.Get(Key(2)), "");
  EXPECT_EQ(cache.Get(Key(3)), std::nullopt);
  EXPECT_EQ(cache.Scan(true)->entries, 2);
  EXPECT_EQ(cache.Scan(true)->damaged.size(), 0u);
  EXPECT_EQ(cache.Scan(true)->hits, 2);
}

TEST(DiskCache, EveryDamagedByteIsAMiss) {
  const std::string folder = Folder("damage");
  auto files = PosixFileSystem();
  std::string path;
  {
    DiskCache cache(At(folder));
    cache.Put(Key(1), "0123456789");
    path = cache.Entries()->front().path;
  }
  const std::string whole = *files->Read(path, 1000);
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      (void)files->Remove(path);
      ASSERT_TRUE(files->Write(path, damaged).ok());
      DiskCache cache(At(folder));
      EXPECT_EQ(cache.Get(Key(1)), std::nullopt) << "byte " << at << " bit " << bit;
      EXPECT_FALSE(files->Read(path, 1000).ok()) << "a damaged entry stays";
    }
  }
  for (size_t length = 0; length < whole.size(); ++length) {
    (void)files->Remove(path);
    ASSERT_TRUE(files->Write(path, whole.substr(0, length)).ok());
    EXPECT_EQ(DiskCache(At(folder)).Get(Key(1)), std::nullopt) << "length " << length;
  }
}

TEST(DiskCache, AnEntryOfAnotherKeyIsAMiss) {
  const std::string folder = Folder("swap");
  DiskCache cache(At(folder));
  cache.Put(Key(1), "one");
  cache.Put(Key(2), "two");
  auto entries = *cache.Entries();
  ASSERT_EQ(entries.size(), 2u);
  ASSERT_EQ(rename(entries[0].path.c_str(), entries[1].path.c_str()), 0);
  EXPECT_EQ(cache.Get(Key(1)).has_value() + cache.Get(Key(2)).has_value(), 0);
}

// A directory with other things in it: whoever names his home as the cache keeps his files.
TEST(DiskCache, WhatIsNotOfTheCacheStays) {
  const std::string folder = Folder("shared");
  auto files = PosixFileSystem();
  DiskCache cache(At(folder));
  cache.Put(Key(1), std::string(100, 'x'));
  const std::string entry = cache.Entries()->front().path;
  const std::string name = entry.substr(entry.rfind('/') + 1), own = entry.substr(0, entry.rfind('/'));
  const std::vector<std::string> others = {"/.ssh/id_rsa", "/ab/notes", "/ab/tmp.1.0.00000000", "/docs/" + name, "/xab/" + name, "/docs/tilevm-tmp.1.0.0", "/ab/" + name + ".txt"};
  for (const std::string& other : others) {
    ASSERT_TRUE(files->MakeDirectories(folder + other.substr(0, other.rfind('/'))).ok());
    ASSERT_TRUE(files->Write(folder + other, "mine").ok());
    struct timespec old[2] = {{1'000'000, 0}, {1'000'000, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (folder + other).c_str(), old, 0), 0);
  }
  ASSERT_TRUE(files->Write(own + "/tilevm-tmp.1.0.0", "left by a dead process").ok());
  ASSERT_TRUE(files->Write(own + "/" + name + ".lock", "").ok());
  EXPECT_EQ(cache.Scan(false)->entries, 1);
  EXPECT_EQ(*cache.Evict(1000), 0);
  EXPECT_TRUE(cache.Get(Key(1)).has_value());
  EXPECT_GT(*cache.Evict(0), 100);
  EXPECT_EQ(cache.Get(Key(1)), std::nullopt);
  EXPECT_FALSE(files->Read(own + "/tilevm-tmp.1.0.0", 100).ok());
  EXPECT_FALSE(files->Read(own + "/" + name + ".lock", 100).ok());
  for (const std::string& other : others) EXPECT_EQ(*files->Read(folder + other, 100), "mine") << other;
}

TEST(DiskCache, AnEntryThatIsAPipeIsAMiss) {
  const std::string folder = Folder("pipe");
  DiskCache cache(At(folder));
  cache.Put(Key(1), "x");
  const std::string path = cache.Entries()->front().path;
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(DiskCache(At(folder)).Get(Key(1)), std::nullopt);
}

TEST(DiskCache, LowerLayersAreReadAndNeverWritten) {
  const std::string lower = Folder("lower"), upper = Folder("upper");
  DiskCache(At(lower)).Put(Key(1), "from below");
  DiskCacheOptions options = At(upper);
  options.lower_layers = {lower};
  DiskCache cache(options);
  EXPECT_EQ(cache.Get(Key(1)), "from below");
  cache.Put(Key(2), "new");
  EXPECT_EQ(DiskCache(At(lower)).Get(Key(2)), std::nullopt);
  EXPECT_EQ(cache.Get(Key(2)), "new");
}

TEST(DiskCache, EvictsWhatWasUsedLongestAgo) {
  const std::string folder = Folder("evict");
  DiskCacheOptions options = At(folder);
  options.max_bytes = 20 * 1064;
  DiskCache cache(options);
  const std::string payload(1000, 'x');
  for (int i = 0; i < 15; ++i) cache.Put(Key(i), payload);
  // Entries 0..14 get the use times 1000, 1001, ...; entry 3 was used last of all.
  const std::vector<FileSystem::Entry> entries = *cache.Entries();
  for (const FileSystem::Entry& entry : entries) {
    int number = -1;
    for (int i = 0; i < 15; ++i) {
      if (entry.path.find(KeyHex(Key(i)).substr(2)) != std::string::npos) number = i;
    }
    timespec times[2] = {{0, UTIME_OMIT}, {number == 3 ? 5000 : 1000 + number, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, entry.path.c_str(), times, 0), 0);
  }
  ASSERT_TRUE(cache.Evict(5 * 1064).ok());
  EXPECT_LE(cache.Scan(false)->bytes, 5 * 1064);
  EXPECT_EQ(cache.Get(Key(0)), std::nullopt);
  EXPECT_EQ(cache.Get(Key(3)), payload);
  EXPECT_EQ(cache.Get(Key(14)), payload);
  for (int i = 20; i < 60; ++i) cache.Put(Key(i), payload);
  EXPECT_LE(cache.Scan(false)->bytes, options.max_bytes);
  ASSERT_TRUE(cache.Evict(0).ok());
  EXPECT_EQ(cache.Scan(false)->entries, 0);
}

// Fails the operations named in `fail` with `error`; short reads when error is 0.
class FaultyFileSystem : public FileSystem {
 public:
  FaultyFileSystem(std::string fail, int error) : fail_(std::move(fail)), error_(error), real_(PosixFileSystem()) {}

  absl::StatusOr<std::string> Read(const std::string& path, int64_t max_bytes) override {
    if (!Fails("read")) return real_->Read(path, max_bytes);
    if (error_ != 0) return Fault();
    absl::StatusOr<std::string> bytes = real_->Read(path, max_bytes);
    if (bytes.ok()) bytes->resize(bytes->size() / 2);
    return bytes;
  }
  absl::Status Write(const std::string& path, absl::string_view bytes) override {
    if (!Fails("write")) return real_->Write(path, bytes);
    real_->Write(path, bytes.substr(0, bytes.size() / 2)).IgnoreError();  // a full disk leaves half a file
    return Fault();
  }
  absl::Status Rename(const std::string& from, const std::string& to) override { return Fails("rename") ? Fault() : real_->Rename(from, to); }
  absl::Status Remove(const std::string& path) override { return Fails("remove") ? Fault() : real_->Remove(path); }
  absl::Status MakeDirectories(const std::string& path) override { return Fails("mkdir") ? Fault() : real_->MakeDirectories(path); }
  absl::Status Touch(const std::string& path) override { return Fails("touch") ? Fault() : real_->Touch(path); }
  absl::StatusOr<std::vector<Entry>> List(const std::string& directory) override {
    if (Fails("list")) return Fault();
    return real_->List(directory);
  }
  absl::StatusOr<std::shared_ptr<void>> Lock(const std::string& path, int64_t milliseconds) override {
    if (Fails("lock")) return Fault();
    return real_->Lock(path, milliseconds);
  }

 private:
  bool Fails(absl::string_view operation) const { return fail_ == "all" || fail_ == operation; }
  absl::Status Fault() const { return absl::ErrnoToStatus(error_, "injected"); }
  const std::string fail_;
  const int error_;
  std::shared_ptr<FileSystem> real_;
};

TEST(DiskCache, EveryFaultDegradesToNotCachedWithOneWarning) {
  for (int error : {EIO, ENOSPC, EROFS, ESTALE, EBUSY, ENOENT, EACCES}) {
    for (const char* operation : {"read", "write", "rename", "remove", "mkdir", "touch", "list", "lock", "all"}) {
      const std::string folder = Folder(absl::StrCat("fault_", operation, "_", error).c_str());
      std::vector<std::string> warnings;
      DiskCacheOptions options = At(folder);
      options.max_bytes = 100;  // so that Put wants to evict
      options.file_system = std::make_shared<FaultyFileSystem>(operation, error);
      options.warn = [&](absl::string_view text) { warnings.push_back(std::string(text)); };
      DiskCache cache(options);
      for (int i = 0; i < 3; ++i) {
        std::shared_ptr<void> lock = cache.Lock(Key(i));
        cache.Put(Key(i), "payload");
        std::optional<std::string> got = cache.Get(Key(i));
        EXPECT_EQ(got.value_or("payload"), "payload") << operation << " " << error;
      }
      EXPECT_LE(warnings.size(), 3u) << operation << " " << error;
      // What is on the disk afterwards is whole: a healthy process sees no damage.
      DiskCache after(At(folder));
      EXPECT_EQ(after.Scan(true)->damaged.size(), 0u) << operation << " " << error;
    }
  }
}

TEST(DiskCache, AShortReadIsAMiss) {
  const std::string folder = Folder("short");
  DiskCache(At(folder)).Put(Key(1), "payload");
  DiskCacheOptions options = At(folder);
  options.file_system = std::make_shared<FaultyFileSystem>("read", 0);
  EXPECT_EQ(DiskCache(options).Get(Key(1)), std::nullopt);
}

TEST(DiskCache, NothingIsWrittenWithoutADirectory) {
  DiskCache cache(DiskCacheOptions{});
  cache.Put(Key(1), "x");
  EXPECT_EQ(cache.Get(Key(1)), std::nullopt);
  EXPECT_EQ(cache.Lock(Key(1)), nullptr);
}

TEST(DiskCache, ALockThatIsHeldExpires) {
  DiskCacheOptions options = At(Folder("lock"));
  options.lock_milliseconds = 5;
  DiskCache cache(options);
  std::shared_ptr<void> held = cache.Lock(Key(1));
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(cache.Lock(Key(1)), nullptr) << "goes on alone after the time";
  held.reset();
  EXPECT_NE(cache.Lock(Key(1)), nullptr);
}

TEST(DiskCache, EightProcessesEvictingAndWritingAtOnce) {
  const std::string folder = Folder("race");
  constexpr int kProcesses = 8, kRounds = 50, kKeys = 8;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      DiskCacheOptions options = At(folder);
      options.max_bytes = 6 * 5064;
      DiskCache cache(options);
      int wrong = 0;
      for (int round = 0; round < kRounds; ++round) {
        const int k = (round * 5 + p) % kKeys;
        const std::string expected(5000, static_cast<char>('a' + k));
        std::optional<std::string> got = cache.Get(Key(k));
        if (!got.has_value()) {
          std::shared_ptr<void> lock = cache.Lock(Key(k));
          got = cache.Get(Key(k));
          if (!got.has_value()) cache.Put(Key(k), expected);
        }
        if (got.has_value() && *got != expected) ++wrong;
      }
      _exit(wrong == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  DiskCache cache(At(folder));
  EXPECT_EQ(cache.Scan(true)->damaged.size(), 0u);
  EXPECT_GT(cache.Scan(true)->entries, 0);
}

}  // namespace
}  // namespace tilevm::gpu
