// Element types, tile types and shapes: the words that every room uses to say what a value is.
//
// A tile is a block of elements of one element type with a static shape (rank 0 is a scalar). An element is a number of one DType, or a
// pointer to a DType (64-bit address; pointer arithmetic counts in elements of the pointee). i1 is an unsigned 1-bit number, stored in
// memory as one byte that is 0 or 1.
#ifndef TILEVM_ISA_TYPES_H_
#define TILEVM_ISA_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"

namespace tilevm::isa {

enum class DType : uint8_t {
#define DTYPE(Enum, code, name, surface, bits, kind) k##Enum = code,
#include "isa/types.def"
#undef DTYPE
};

enum class DTypeKind : uint8_t { kBool, kSigned, kUnsigned, kFloat };

inline constexpr int kDTypeCount = 15;
extern const DType kAllDTypes[kDTypeCount];  // in the order of types.def

absl::string_view Name(DType dtype);         // "f32"
absl::string_view SurfaceName(DType dtype);  // "float32"
int BitWidth(DType dtype);                   // 1, 8, 16, 32, 64
int StorageBytes(DType dtype);               // 1, 2, 4, 8; i1 takes one byte
DTypeKind Kind(DType dtype);
bool IsFloat(DType dtype);
bool IsInteger(DType dtype);   // signed or unsigned, i1 included
bool IsSigned(DType dtype);    // signed integers only
bool IsUnsigned(DType dtype);  // unsigned integers, i1 included
bool IsFp8(DType dtype);
std::optional<DType> DTypeFromName(absl::string_view name);           // "f32"
std::optional<DType> DTypeFromSurfaceName(absl::string_view name);    // "float32", also "float8_e4m3fn"-style torch spellings
std::optional<DType> DTypeFromCode(uint8_t code);
DType SignedOfWidth(int bits);    // 8, 16, 32, 64
DType UnsignedOfWidth(int bits);  // 8, 16, 32, 64

using Shape = absl::InlinedVector<int64_t, 4>;

inline constexpr int kMaxRank = 8;
inline constexpr int64_t kMaxTileElems = int64_t{1} << 24;

int64_t ElemCount(const Shape& shape);        // 1 for rank 0
std::string ShapeToString(const Shape& shape);  // "[128, 64]"; "[]" for a scalar

// What one element is: a number, or (pointer) the address of a number.
struct ElemType {
  DType dtype = DType::kI32;
  bool pointer = false;

  bool operator==(const ElemType& o) const { return dtype == o.dtype && pointer == o.pointer; }
  bool operator!=(const ElemType& o) const { return !(*this == o); }
};
std::string ToString(ElemType elem);  // "f32", "ptr<f32>"
int StorageBytes(ElemType elem);      // 8 for a pointer

struct Type {
  ElemType elem;
  Shape shape;

  bool is_scalar() const { return shape.empty(); }
  int rank() const { return static_cast<int>(shape.size()); }
  int64_t elem_count() const { return ElemCount(shape); }
  bool operator==(const Type& o) const { return elem == o.elem && shape == o.shape; }
  bool operator!=(const Type& o) const { return !(*this == o); }
};
// "f32" for a scalar, "tile<128x64xf32>", "tile<128xptr<f32>>".
std::string ToString(const Type& type);

inline Type ScalarType(DType dtype) { return Type{{dtype, false}, {}}; }
inline Type PointerType(DType dtype) { return Type{{dtype, true}, {}}; }
inline Type TileType(DType dtype, Shape shape) { return Type{{dtype, false}, std::move(shape)}; }

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_TYPES_H_
