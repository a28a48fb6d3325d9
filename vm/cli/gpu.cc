// tilevm devices, tilevm cache; and the options of verbs that can use a GPU.
#include "vm/cli/gpu.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include <CLI/CLI.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gpu/cache/disk_cache.h"
#include "gpu/launch/device.h"
#include "nlohmann/json.hpp"
#include "vm/cli/cli.h"

namespace tilevm::vm::cli {

int64_t Bytes(absl::string_view text) {
  int64_t unit = 1;
  if (!text.empty()) {
    const char last = text.back();
    const int shift = last == 'K' ? 10 : last == 'M' ? 20 : last == 'G' ? 30 : 0;
    if (shift != 0) {
      unit = int64_t{1} << shift;
      text.remove_suffix(1);
    }
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0 || number > (int64_t{1} << 62) / unit) return -1;
  return number * unit;
}

namespace {

int Devices(bool json) {
  absl::StatusOr<std::vector<gpu::DeviceProperties>> devices = gpu::Device::List();
  nlohmann::json list = nlohmann::json::array();
  if (!json) std::printf("cpu      the CPU engine\n");
  if (devices.ok()) {
    for (const gpu::DeviceProperties& d : *devices) {
      const absl::StatusOr<gpu::Target> target = gpu::TargetOfCapability(d.major, d.minor);
      if (json) {
        list.push_back({{"device", absl::StrCat("cuda:", d.ordinal)},
                        {"name", d.name},
                        {"arch", target.ok() ? target->arch : ""},
                        {"compute_capability", absl::StrCat(d.major, ".", d.minor)},
                        {"multiprocessors", d.multiprocessors},
                        {"memory_bytes", d.memory_bytes},
                        {"l2_bytes", d.l2_bytes},
                        {"shared_memory_per_block", d.smem_per_block}});
      } else {
        std::printf("cuda:%-3d %s, %s, %d multiprocessors, %.1f GiB, %.0f MiB of L2, %lld KiB of shared memory for a block\n", d.ordinal, d.name.c_str(),
                    target.ok() ? target->arch.c_str() : std::string(target.status().message()).c_str(), d.multiprocessors,
                    static_cast<double>(d.memory_bytes) / (1 << 30), static_cast<double>(d.l2_bytes) / (1 << 20), static_cast<long long>(d.smem_per_block / 1024));
      }
    }
  }
  if (json) {
    nlohmann::json out = {{"devices", list}};
    if (!devices.ok()) out["reason"] = std::string(devices.status().message());
    std::printf("%s\n", out.dump(2).c_str());
  } else if (!devices.ok()) {
    std::printf("no GPU: %s\n", std::string(devices.status().message()).c_str());
  }
  return kOk;
}

struct CacheFlags {
  std::string directory, max_size;
  bool json = false;
};

int Cache(const std::string& verb, const CacheFlags& flags) {
  gpu::DiskCacheOptions options;
  options.directory = flags.directory.empty() ? CacheDirectory() : flags.directory;
  if (options.directory.empty()) return Fail(absl::FailedPreconditionError("there is no cache directory: neither --cache-dir, TILEVM_CACHE_DIR nor HOME is given"));
  options.warn = [](absl::string_view line) { std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data()); };
  gpu::DiskCache cache(options);
  if (verb == "ls") {
    absl::StatusOr<std::vector<gpu::FileSystem::Entry>> entries = cache.Entries();
    if (!entries.ok()) return Fail(entries.status());
    for (const auto& entry : *entries) std::printf("%10lld  %s\n", static_cast<long long>(entry.bytes), entry.path.c_str());
    return kOk;
  }
  if (verb == "gc" || verb == "clear") {
    int64_t most = 0;
    if (verb == "gc") {
      most = flags.max_size.empty() ? options.max_bytes : Bytes(flags.max_size);
      if (most < 0) return Misuse(absl::StrCat("--max-size ", flags.max_size, " is no size; 512M, 2G or a number of bytes is wanted"));
    }
    absl::StatusOr<int64_t> freed = cache.Evict(most);
    if (!freed.ok()) return Fail(freed.status());
    std::printf("%lld bytes freed\n", static_cast<long long>(*freed));
    return kOk;
  }
  absl::StatusOr<gpu::DiskCache::Statistics> statistics = cache.Scan(verb == "verify");
  if (!statistics.ok()) return Fail(statistics.status());
  if (flags.json) {
    nlohmann::json out = {{"directory", options.directory}, {"entries", statistics->entries}, {"bytes", statistics->bytes}};
    if (verb == "verify") out["damaged"] = statistics->damaged;
    std::printf("%s\n", out.dump(2).c_str());
  } else {
    std::printf("%s: %lld entries, %lld bytes", options.directory.c_str(), static_cast<long long>(statistics->entries), static_cast<long long>(statistics->bytes));
    if (verb == "verify") std::printf(", %zu damaged", statistics->damaged.size());
    std::printf("\n");
    for (const std::string& path : statistics->damaged) std::printf("damaged: %s\n", path.c_str());
  }
  return verb == "verify" && !statistics->damaged.empty() ? kFailed : kOk;
}

}  // namespace

std::string CacheDirectory() {
  if (const char* own = std::getenv("TILEVM_CACHE_DIR"); own != nullptr && *own != 0) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != 0) return absl::StrCat(xdg, "/tilevm");
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != 0) return absl::StrCat(home, "/.cache/tilevm");
  return "";
}

void AddDeviceFlags(CLI::App& verb, DeviceFlags& flags) {
  verb.add_option("--device", flags.device, "cpu, cuda[:N], or auto: a GPU where there is one (the default)");
  verb.add_option("--cache-dir", flags.cache_directory, "where compiled GPU code is kept (TILEVM_CACHE_DIR, else the user's cache folder)");
  verb.add_flag("--no-cache", flags.no_cache, "neither read nor write compiled GPU code");
}

void Apply(const DeviceFlags& flags, EngineOptions& options) {
  options.device = flags.device;
  if (!flags.no_cache) options.cache_directory = flags.cache_directory.empty() ? CacheDirectory() : flags.cache_directory;
}

void AddDevices(CLI::App& app, int* exit_code) {
  CLI::App* verb = app.add_subcommand("devices", "List what kernels can run on");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "print JSON");
  verb->callback([json, exit_code] { *exit_code = Devices(*json); });
}

void AddCache(CLI::App& app, int* exit_code) {
  CLI::App* verb = app.add_subcommand("cache", "Look after the directory of compiled GPU code");
  verb->require_subcommand(1);
  const std::pair<const char*, const char*> verbs[] = {{"ls", "its entries: bytes and path"},
                                                       {"stats", "how many there are, and how large"},
                                                       {"gc", "remove those used longest ago until the rest fits --max-size"},
                                                       {"clear", "remove all"},
                                                       {"verify", "read every entry, and name those that are damaged; exit code 1 if there are any"}};
  for (const auto& [name, text] : verbs) {
    CLI::App* sub = verb->add_subcommand(name, text);
    auto flags = std::make_shared<CacheFlags>();
    sub->add_option("--cache-dir", flags->directory, "the directory (TILEVM_CACHE_DIR, else the user's cache folder)");
    if (std::string(name) == "gc") sub->add_option("--max-size", flags->max_size, "bytes, or 512M, 2G (1G)");
    if (std::string(name) == "stats" || std::string(name) == "verify") sub->add_flag("--json", flags->json, "print JSON");
    sub->callback([flags, exit_code, verb_name = std::string(name)] { *exit_code = Cache(verb_name, *flags); });
  }
}

}  // namespace tilevm::vm::cli
