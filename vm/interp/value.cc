// Registers: from lazy forms to dense ones, copies, ranges.
#include <algorithm>

#include "vm/interp/plan.h"

namespace tilevm::vm {
namespace {

template <typename T>
void FillAs(void* out, uint64_t bits, int64_t n) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  std::fill_n(static_cast<T*>(out), n, value);
}

// One row at a time, the last dimension innermost: out = base + step * i.
template <typename T>
void FillAffine(const Register& reg, const TypeInfo& type) {
  T* out = reinterpret_cast<T*>(reg.data);
  const int inner = type.rank - 1;
  const int64_t row = type.shape[inner];
  const T step = static_cast<T>(reg.coef[inner]);
  int64_t index[isa::kMaxRank] = {};
  uint64_t base = static_cast<uint64_t>(reg.base);
  for (int64_t done = 0; done < type.n; done += row) {
    T value = static_cast<T>(base);
    if (step == 0) {
      std::fill_n(out + done, row, value);
    } else {
      for (int64_t i = 0; i < row; ++i) out[done + i] = static_cast<T>(value + step * static_cast<T>(i));
    }
    for (int d = inner - 1; d >= 0; --d) {
      base += static_cast<uint64_t>(reg.coef[d]);
      if (++index[d] < type.shape[d]) break;
      base -= static_cast<uint64_t>(reg.coef[d]) * static_cast<uint64_t>(type.shape[d]);
      index[d] = 0;
    }
  }
}

void FillBox(const Register& reg, const TypeInfo& type) {
  std::memset(reg.data, 0, type.n);
  if (BoxIsEmpty(reg, type)) return;
  const int inner = type.rank - 1;
  int64_t index[isa::kMaxRank];
  for (int d = 0; d < inner; ++d) index[d] = reg.box.lo[d];
  while (true) {
    int64_t offset = 0;
    for (int d = 0; d < inner; ++d) offset += index[d] * type.stride[d];
    std::memset(reg.data + offset + reg.box.lo[inner], 1, reg.box.hi[inner] - reg.box.lo[inner]);
    int d = inner - 1;
    for (; d >= 0; --d) {
      if (++index[d] < reg.box.hi[d]) break;
      index[d] = reg.box.lo[d];
    }
    if (d < 0) return;
  }
}

}  // namespace

TypeInfo MakeTypeInfo(const isa::Type& type) {
  TypeInfo info;
  info.elem = type.elem;
  info.dtype = type.elem.pointer ? isa::DType::kU64 : type.elem.dtype;
  info.elem_bytes = isa::StorageBytes(type.elem);
  info.pointee_bytes = type.elem.pointer ? isa::StorageBytes(type.elem.dtype) : 0;
  info.rank = type.rank();
  info.n = type.elem_count();
  int64_t stride = 1;
  for (int d = info.rank - 1; d >= 0; --d) {
    info.shape[d] = type.shape[d];
    info.stride[d] = stride;
    stride *= type.shape[d];
  }
  return info;
}

void FillElements(void* out, uint64_t bits, int elem_bytes, int64_t n) {
  switch (elem_bytes) {
    case 1: std::memset(out, static_cast<int>(bits & 0xff), n); break;
    case 2: FillAs<uint16_t>(out, bits, n); break;
    case 4: FillAs<uint32_t>(out, bits, n); break;
    default: FillAs<uint64_t>(out, bits, n); break;
  }
}

void Materialise(Register& reg, const TypeInfo& type) {
  if (reg.form == Form::kSplat) {
    FillElements(reg.data, static_cast<uint64_t>(reg.base), type.elem_bytes, type.n);
  } else if (reg.form == Form::kBox) {
    FillBox(reg, type);
  } else if (reg.form == Form::kAffine) {
    switch (type.elem_bytes) {
      case 1: FillAffine<uint8_t>(reg, type); break;
      case 2: FillAffine<uint16_t>(reg, type); break;
      case 4: FillAffine<uint32_t>(reg, type); break;
      default: FillAffine<uint64_t>(reg, type); break;
    }
  }
  reg.form = Form::kDense;
}

int64_t ReadInt(const Register& reg, const TypeInfo& type) {
  return isa::ScalarToInt(type.dtype, isa::Scalar{ReadBits(reg.data, type.elem_bytes, 0)});
}

void SetSplat(Register& out, const TypeInfo& type, uint64_t bits) {
  out.shadowed = false;
  if (type.rank == 0) {
    out.form = Form::kDense;
    WriteBits(out.data, type.elem_bytes, 0, bits);
  } else if (type.dtype == isa::DType::kI1) {
    out.form = Form::kBox;
    for (int d = 0; d < type.rank; ++d) {
      out.box.lo[d] = 0;
      out.box.hi[d] = (bits & 1) != 0 ? static_cast<int32_t>(type.shape[d]) : 0;
    }
  } else if (isa::IsFloat(type.dtype)) {
    out.form = Form::kSplat;
    out.base = static_cast<int64_t>(bits);
  } else {
    const int64_t value = isa::ScalarToInt(type.dtype, isa::Scalar{bits});
    if (type.dtype == isa::DType::kU64 && !type.elem.pointer && value < 0) {  // no exact affine form
      out.form = Form::kDense;
      FillElements(out.data, bits, 8, type.n);
      return;
    }
    out.form = Form::kAffine;
    out.base = value;
    std::fill_n(out.coef, type.rank, 0);
  }
}

bool IsUniform(const Register& reg, const TypeInfo& type, uint64_t* bits) {
  switch (reg.form) {
    case Form::kDense:
      if (type.n != 1) return false;
      *bits = ReadBits(reg.data, type.elem_bytes, 0);
      return true;
    case Form::kSplat:
      *bits = static_cast<uint64_t>(reg.base);
      return true;
    case Form::kAffine:
      for (int d = 0; d < type.rank; ++d) {
        if (reg.coef[d] != 0 && type.shape[d] > 1) return false;
      }
      *bits = isa::ScalarFromInt(type.dtype, reg.base).bits;
      return true;
    case Form::kBox:
      if (BoxIsEmpty(reg, type)) {
        *bits = 0;
        return true;
      }
      *bits = 1;
      return BoxIsFull(reg, type);
  }
  return false;
}

bool BoxIsEmpty(const Register& reg, const TypeInfo& type) {
  for (int d = 0; d < type.rank; ++d) {
    if (reg.box.lo[d] >= reg.box.hi[d]) return true;
  }
  return false;
}

bool BoxIsFull(const Register& reg, const TypeInfo& type) {
  for (int d = 0; d < type.rank; ++d) {
    if (reg.box.lo[d] > 0 || reg.box.hi[d] < type.shape[d]) return false;
  }
  return true;
}

bool FitsDType(isa::DType dtype, int64_t lo, int64_t hi) {
  const int bits = isa::BitWidth(dtype);
  if (isa::IsSigned(dtype)) {
    if (bits == 64) return true;
    const int64_t limit = int64_t{1} << (bits - 1);
    return lo >= -limit && hi < limit;
  }
  return lo >= 0 && (bits == 64 || hi < (int64_t{1} << bits));
}

bool AffineRange(const Register& reg, const TypeInfo& type, int64_t* lo, int64_t* hi) {
  *lo = *hi = reg.base;
  for (int d = 0; d < type.rank; ++d) {
    int64_t span;
    if (__builtin_mul_overflow(reg.coef[d], type.shape[d] - 1, &span)) return false;
    int64_t* end = span < 0 ? lo : hi;
    if (__builtin_add_overflow(*end, span, end)) return false;
  }
  return true;
}

void CopyRegister(Register& dst, const Register& src, const TypeInfo& type) {
  std::byte* data = dst.data;
  uint8_t* shadow = dst.shadow;
  dst = src;
  dst.data = data;
  dst.shadow = shadow;
  if (src.form == Form::kDense) std::memcpy(data, src.data, type.bytes());
  if (src.shadowed) std::memcpy(shadow, src.shadow, type.n);
}

}  // namespace tilevm::vm
