// Names and widths of types.def, and how types print.
#include "isa/types.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tilevm::isa {
namespace {

struct Row {
  DType dtype;
  absl::string_view name;
  absl::string_view surface;
  int bits;
  DTypeKind kind;
};

constexpr Row kRows[] = {
#define DTYPE(Enum, code, name, surface, bits, kind) {DType::k##Enum, name, surface, bits, DTypeKind::k##kind},
#include "isa/types.def"
#undef DTYPE
};
static_assert(sizeof(kRows) / sizeof(kRows[0]) == kDTypeCount);

const Row& RowOf(DType dtype) { return kRows[static_cast<int>(dtype) - 1]; }

}  // namespace

const DType kAllDTypes[kDTypeCount] = {
#define DTYPE(Enum, code, name, surface, bits, kind) DType::k##Enum,
#include "isa/types.def"
#undef DTYPE
};

absl::string_view Name(DType dtype) { return RowOf(dtype).name; }
absl::string_view SurfaceName(DType dtype) { return RowOf(dtype).surface; }
int BitWidth(DType dtype) { return RowOf(dtype).bits; }
int StorageBytes(DType dtype) { return dtype == DType::kI1 ? 1 : RowOf(dtype).bits / 8; }
DTypeKind Kind(DType dtype) { return RowOf(dtype).kind; }
bool IsFloat(DType dtype) { return Kind(dtype) == DTypeKind::kFloat; }
bool IsInteger(DType dtype) { return !IsFloat(dtype); }
bool IsSigned(DType dtype) { return Kind(dtype) == DTypeKind::kSigned; }
bool IsUnsigned(DType dtype) { return Kind(dtype) == DTypeKind::kUnsigned || Kind(dtype) == DTypeKind::kBool; }
bool IsFp8(DType dtype) { return dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2; }

std::optional<DType> DTypeFromName(absl::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

std::optional<DType> DTypeFromSurfaceName(absl::string_view name) {
  for (const Row& row : kRows) {
    if (row.surface == name) return row.dtype;
  }
  static constexpr struct { absl::string_view name; DType dtype; } kOther[] = {
      {"bool", DType::kI1},   {"half", DType::kF16},  {"float", DType::kF32}, {"double", DType::kF64},
      {"int", DType::kI32},   {"long", DType::kI64},  {"short", DType::kI16}, {"float8_e4m3fn", DType::kF8E4M3},
      {"float8_e5m2", DType::kF8E5M2},
  };
  for (const auto& other : kOther) {
    if (other.name == name) return other.dtype;
  }
  return std::nullopt;
}

std::optional<DType> DTypeFromCode(uint8_t code) {
  if (code < 1 || code > kDTypeCount) return std::nullopt;
  return static_cast<DType>(code);
}

DType SignedOfWidth(int bits) {
  return bits <= 8 ? DType::kI8 : bits <= 16 ? DType::kI16 : bits <= 32 ? DType::kI32 : DType::kI64;
}
DType UnsignedOfWidth(int bits) {
  return bits <= 8 ? DType::kU8 : bits <= 16 ? DType::kU16 : bits <= 32 ? DType::kU32 : DType::kU64;
}

int64_t ElemCount(const Shape& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

std::string ShapeToString(const Shape& shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

std::string ToString(ElemType elem) {
  return elem.pointer ? absl::StrCat("ptr<", Name(elem.dtype), ">") : std::string(Name(elem.dtype));
}

int StorageBytes(ElemType elem) { return elem.pointer ? 8 : StorageBytes(elem.dtype); }

std::string ToString(const Type& type) {
  if (type.is_scalar()) return ToString(type.elem);
  return absl::StrCat("tile<", absl::StrJoin(type.shape, "x"), "x", ToString(type.elem), ">");
}

}  // namespace tilevm::isa
