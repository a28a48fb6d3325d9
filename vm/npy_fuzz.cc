// Any bytes as a .npy file: an error or an array, and an array that was read is written and read again unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "vm/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tilevm;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<vm::NpyArray> array = vm::ParseNpy(bytes);
  vm::ParseNpy(bytes, isa::DType::kBF16).status().IgnoreError();
  if (!array.ok()) return 0;
  const std::string again = vm::NpyHeaderText(array->dtype, array->shape) + array->data;
  const absl::StatusOr<vm::NpyArray> second = vm::ParseNpy(again);
  if (!second.ok() || second->dtype != array->dtype || second->shape != array->shape || second->data != array->data) std::abort();
  return 0;
}
