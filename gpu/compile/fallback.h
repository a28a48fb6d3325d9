// Which variant of a kernel is kept: the most ambitious one that the assembler can do without spilling.
//
// Products that run on while other work is done need their accumulators, fragments and what that work holds all at once. Where that is more than a thread has,
// ptxas spills, and it lets wgmma products wait for each other (warnings C7510, C7512): such a variant loses to a plainer one. So variants are tried in turn:
// all liberties, at most three merged programs, none and no copies by a warpgroup of its own, no products that overlap other work, no wgmma. The first clean one is
// taken; if none is, the least bad.
#ifndef TILEVM_GPU_COMPILE_FALLBACK_H_
#define TILEVM_GPU_COMPILE_FALLBACK_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu/compile/generate.h"

namespace tilevm::gpu {

// What the assembler said of a variant: 0 is clean, less is better. `serialised`: products wait for each other.
inline int64_t BadnessOf(int64_t spill_bytes, bool serialised) { return spill_bytes + (serialised ? 1024 : 0); }

// generate(GenerateOptions) -> StatusOr<Emitted>, compile(Emitted) -> StatusOr<T>, badness(const T&) -> BadnessOf(...). Every text is compiled once.
template <class T, class Generator, class Compile, class Badness>
absl::StatusOr<T> BestVariant(const GenerateOptions& options, Generator generate, Compile compile, Badness badness) {
  constexpr int64_t kWorthWithoutWgmma = 256;  // a few spilled registers cost less than mma.sync
  std::optional<T> best;
  int64_t least = 0;
  std::vector<std::string> tried;
  for (int level = 0; level < 5; ++level) {
    GenerateOptions variant = options;
    if (level == 1) variant.merged = std::min(options.merged, 3);
    variant.promises.many = options.promises.many && level < 2;
    variant.promises.made = options.promises.made && level < 2;
    variant.threads = options.threads && level < 2;
    variant.overlap = options.overlap && level < 3;
    variant.wgmma = options.wgmma && level < 4;
    absl::StatusOr<Emitted> emitted = generate(variant);
    if (!emitted.ok()) {
      if (best.has_value()) break;
      return emitted.status();
    }
    bool known = false;
    for (const std::string& text : tried) known |= text == emitted->text;
    if (known) continue;
    tried.push_back(emitted->text);
    absl::StatusOr<T> made = compile(*std::move(emitted));
    if (!made.ok()) return made.status();
    const int64_t bad = badness(*made);
    if (!best.has_value() || bad < least) {
      best = *std::move(made);
      least = bad;
    }
    if (least == 0 || (level == 3 && least < kWorthWithoutWgmma)) break;
  }
  return *std::move(best);
}
template <class T, class Compile, class Badness>
absl::StatusOr<T> BestVariant(const ir::Kernel& kernel, const Target& target, const GenerateOptions& options, Compile compile, Badness badness) {
  return BestVariant<T>(options, [&](const GenerateOptions& variant) { return Generate(kernel, target, variant); }, compile, badness);
}

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_COMPILE_FALLBACK_H_
