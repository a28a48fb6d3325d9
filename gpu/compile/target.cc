#include "gpu/compile/target.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace tilevm::gpu {

const std::vector<Target>& KnownTargets() {
  static const auto* const kTargets = new std::vector<Target>{
      {"sm_80", 80, 163 * 1024}, {"sm_86", 86, 99 * 1024},   {"sm_89", 89, 99 * 1024},
      {"sm_90a", 90, 227 * 1024}, {"sm_100a", 100, 227 * 1024}, {"sm_120a", 120, 99 * 1024},
  };
  return *kTargets;
}

absl::StatusOr<Target> TargetOf(absl::string_view arch) {
  const absl::string_view name = absl::StripPrefix(arch, "sm_");
  for (const Target& target : KnownTargets()) {
    if (name == absl::StripPrefix(target.arch, "sm_") || name == absl::StrCat(target.number)) return target;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown architecture '", arch, "'; known: ",
                   absl::StrJoin(KnownTargets(), ", ", [](std::string* out, const Target& target) { absl::StrAppend(out, target.arch); })));
}

absl::StatusOr<Target> TargetOfCapability(int major, int minor) {
  const Target* found = nullptr;
  for (const Target& target : KnownTargets()) {
    if (target.number / 10 == major && target.number % 10 <= minor) found = &target;
  }
  if (found == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("no code can be made for a GPU of compute capability ", major, ".", minor, "; the oldest is 8.0"));
  }
  // A letter after the number means instructions of that one architecture: another minor number gets none.
  if (found->number != major * 10 + minor && absl::EndsWith(found->arch, "a")) {
    return absl::FailedPreconditionError(absl::StrCat("no code can be made for a GPU of compute capability ", major, ".", minor));
  }
  return *found;
}

}  // namespace tilevm::gpu
