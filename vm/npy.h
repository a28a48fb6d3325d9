// Numpy's .npy files, format versions 1 to 3, for every element type.
//
//   i1 |b1   i8 |i1  i16 <i2  i32 <i4  i64 <i8   u8 |u1  u16 <u2  u32 <u4  u64 <u8   f16 <f2  f32 <f4  f64 <f8
//   bf16 <V2   f8e4m3 |V1   f8e5m2 |V1
//
// Numpy has no bf16 and no fp8: numpy.load gives such a file as raw data; view it as uint16 or uint8. Which of them it is stands as a comment
// behind the header's dict ("# tilevm: f8e5m2"), which numpy's parser skips. A file without the comment, made by numpy, is read as bf16 (<V2) or
// f8e4m3 (|V1), or as whatever type of that width the reader asks for; so is a uint16 or uint8 array when a bf16 or fp8 one is asked for.
//
// Reading is bounded: the header by 64 KiB, the data by the file's size. Writing is atomic: a temporary file beside the target, renamed.
#ifndef TILEVM_VM_NPY_H_
#define TILEVM_VM_NPY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isa/types.h"

namespace tilevm::vm {

struct NpyHeader {
  isa::DType dtype = isa::DType::kF32;
  bool big_endian = false;
  bool fortran_order = false;
  isa::Shape shape;
  size_t data_offset = 0;
  int64_t data_bytes = 0;
};

// An array in row-major order, little-endian.
struct NpyArray {
  isa::DType dtype = isa::DType::kF32;
  isa::Shape shape;
  std::string data;
};

// bytes: the whole file, or enough of it to hold the header. kDataLoss with the place for a damaged one.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view bytes);
// Whole file. `as`: the element type to give to raw data of its width (bf16, fp8), and to uint16 or uint8; other data has to be of that type.
absl::StatusOr<NpyArray> ParseNpy(absl::string_view bytes, std::optional<isa::DType> as = std::nullopt);
std::string NpyHeaderText(isa::DType dtype, const isa::Shape& shape);

absl::StatusOr<NpyArray> ReadNpy(const std::string& path, std::optional<isa::DType> as = std::nullopt);
// data: row-major elements.
absl::Status WriteNpy(const std::string& path, isa::DType dtype, const isa::Shape& shape, absl::string_view data);

}  // namespace tilevm::vm

#endif  // TILEVM_VM_NPY_H_
