// What the verbs that can use a GPU share: the --device and cache options, and where the cache lies.
#ifndef TILEVM_VM_CLI_GPU_H_
#define TILEVM_VM_CLI_GPU_H_

#include <string>

#include "vm/engine.h"

namespace CLI {
class App;
}

namespace tilevm::vm::cli {

struct DeviceFlags {
  std::string device = "auto";
  std::string cache_directory;  // "": CacheDirectory()
  bool no_cache = false;
};

void AddDeviceFlags(CLI::App& verb, DeviceFlags& flags);
void Apply(const DeviceFlags& flags, EngineOptions& options);

// $TILEVM_CACHE_DIR, else $XDG_CACHE_HOME/tilevm, else ~/.cache/tilevm; "" if the environment names none.
std::string CacheDirectory();

}  // namespace tilevm::vm::cli

#endif  // TILEVM_VM_CLI_GPU_H_
