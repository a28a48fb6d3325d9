#include "frontends/triton/names.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tilevm::triton {
namespace {

constexpr absl::string_view kLanguage = "triton.language.";

// Modules inside triton.language whose members are members of it.
bool IsTransparent(absl::string_view part) {
  return part == "math" || part == "core" || part == "standard" || part == "random" || part == "semantic";
}

}  // namespace

std::string NormalizedPath(absl::string_view path) {
  absl::string_view rest = path;
  if (!absl::ConsumePrefix(&rest, kLanguage)) return std::string(path);
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, '.');
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] != "libdevice") continue;
    return absl::StrJoin(parts.begin() + static_cast<std::ptrdiff_t>(i), parts.end(), ".");
  }
  if (parts.size() < 2 || !IsTransparent(parts[0])) return std::string(path);
  const std::string member = absl::StrJoin(parts.begin() + 1, parts.end(), ".");
  if (parts[0] == "math" && !isa::OpFromSurface(member).has_value()) {
    const std::string library = absl::StrCat("libdevice.", member);
    if (isa::OpFromSurface(library).has_value()) return library;
  }
  return absl::StrCat(kLanguage, member);
}

std::optional<isa::Op> OpOfPath(absl::string_view path) {
  if (absl::StartsWith(path, "libdevice.")) return isa::OpFromSurface(path);
  if (!absl::ConsumePrefix(&path, kLanguage)) return std::nullopt;
  return isa::OpFromSurface(path);
}

std::optional<isa::DType> DTypeOfPath(absl::string_view path) {
  if (!absl::ConsumePrefix(&path, kLanguage)) return std::nullopt;
  return isa::DTypeFromSurfaceName(path);
}

int OperandOfKeyword(const isa::OpInfo& info, absl::string_view keyword) {
  std::vector<absl::string_view> names;
  for (const isa::OperandSpec& operand : info.operands) {
    if (operand.kind == isa::OperandKind::kValue || operand.kind == isa::OperandKind::kStatic) names.push_back(operand.name);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == keyword) return static_cast<int>(i);
  }
  // Triton's names where the row has shorter ones.
  static constexpr std::pair<absl::string_view, absl::string_view> kAliases[] = {
      {"pointer", "p"}, {"val", "value"}, {"condition", "cond"}, {"shape", "dims"}, {"offsets", "offset"}, {"offset", "offsets"},
  };
  for (const auto& [alias, name] : kAliases) {
    if (keyword != alias) continue;
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return static_cast<int>(i);
    }
  }
  if (keyword == "input" || keyword == "a" || keyword == "arg0") return names.empty() ? -1 : 0;
  if (keyword == "other" || keyword == "b" || keyword == "arg1") return names.size() < 2 ? -1 : 1;
  return -1;
}

bool TakesSpreadList(isa::Op op) {
  return op == isa::Op::kReshape || op == isa::Op::kBroadcastTo || op == isa::Op::kTrans || op == isa::Op::kPermute;
}

}  // namespace tilevm::triton
