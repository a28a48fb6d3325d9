// Parts that keys and entries of kept texts have in common, as bytes.
#ifndef TILEVM_GPU_COMPILE_ENTRY_BYTES_H_
#define TILEVM_GPU_COMPILE_ENTRY_BYTES_H_

#include <cstdint>

#include "isa/status.h"
#include "isa/tbc_bytes.h"
#include "isa/types.h"

namespace tilevm::gpu {

inline void Put(isa::ByteWriter& out, int64_t value) { out.Fixed(static_cast<uint64_t>(value), 8); }
inline void Put(isa::ByteWriter& out, const Loc& loc) {
  for (int32_t part : {loc.file, loc.line, loc.col}) out.Fixed(static_cast<uint32_t>(part), 4);
}
inline void Put(isa::ByteWriter& out, const isa::Type& type) {
  out.U8(static_cast<uint8_t>(type.elem.dtype));
  out.U8(type.elem.pointer);
  out.Varint(type.shape.size());
  for (int64_t extent : type.shape) out.Varint(static_cast<uint64_t>(extent));
}

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_COMPILE_ENTRY_BYTES_H_
