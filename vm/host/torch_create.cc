// torch functions that make tensors from nothing or from numbers.
#include <algorithm>
#include <cmath>

#include "vm/host/convert.h"
#include "vm/host/host.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

enum Tag { kEmpty, kZeros, kOnes };

absl::StatusOr<Value> Create(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Shape shape, call.ShapeArg(0));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(1, DType::kF32));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(dtype, shape, call.tag == kEmpty ? Fill::kUninitialised : Fill::kZero));
  if (call.tag == kOnes) TILEVM_RETURN_IF_ERROR(FillWith(t, Value::Int(1)));
  return FinishCreation(call, t, 1);
}

// torch.empty_like keeps the strides of a dense permuted tensor; ours are made contiguous unless the tensor is dense.
absl::StatusOr<Tensor> MakeLike(const Tensor& like, DType dtype, Fill fill) {
  std::vector<int> order(like.rank());
  for (int i = 0; i < like.rank(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return like.strides[a] > like.strides[b]; });
  Shape sorted;
  for (int d : order) sorted.push_back(like.shape[d]);
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(dtype, like.shape, fill));
  Shape dense = ContiguousStrides(sorted), strides(like.rank());
  for (int i = 0; i < like.rank(); ++i) strides[order[i]] = dense[i];
  bool same = true;
  for (int i = 0; i < like.rank(); ++i) same = same && (like.shape[i] <= 1 || strides[i] == like.strides[i]);
  if (same) t.strides = strides;
  return t;
}

absl::StatusOr<Value> CreateLike(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor like, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(1, like.dtype));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, MakeLike(like, dtype, call.tag == kEmpty ? Fill::kUninitialised : Fill::kZero));
  if (call.tag == kOnes) TILEVM_RETURN_IF_ERROR(FillWith(t, Value::Int(1)));
  return FinishCreation(call, t, 1);
}

absl::StatusOr<Value> CreateNew(HostCall& call) {  // x.new_empty(shape)
  TILEVM_ASSIGN_OR_RETURN(Tensor like, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Shape shape, call.ShapeArg(1));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(2, like.dtype));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(dtype, shape, call.tag == kEmpty ? Fill::kUninitialised : Fill::kZero));
  if (call.tag == kOnes) TILEVM_RETURN_IF_ERROR(FillWith(t, Value::Int(1)));
  return FinishCreation(call, t, 2);
}

absl::StatusOr<Value> NewFull(HostCall& call) {  // x.new_full(shape, value)
  TILEVM_ASSIGN_OR_RETURN(Tensor like, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Shape shape, call.ShapeArg(1));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(3, like.dtype));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(dtype, shape, Fill::kZero));
  TILEVM_RETURN_IF_ERROR(FillWith(t, call.args[2]));
  return FinishCreation(call, t, 3);
}

absl::StatusOr<Value> EmptyStrided(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Shape shape, call.ShapeArg(0));
  TILEVM_ASSIGN_OR_RETURN(Shape strides, call.ShapeArg(1));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(2, DType::kF32));
  if (shape.size() != strides.size()) return call.Error("size and stride differ in length");
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0 || strides[i] < 0 || shape[i] > (int64_t{1} << 40) || strides[i] > (int64_t{1} << 40)) return call.Error("size or stride is out of range");
    if (shape[i] > 0) last += static_cast<int64_t>(std::min<double>(static_cast<double>(shape[i] - 1) * strides[i], 1e15));
  }
  TILEVM_ASSIGN_OR_RETURN(Tensor flat, Tensor::Make(dtype, {last + 1}, Fill::kUninitialised));
  flat.shape = shape;
  flat.strides = strides;
  return FinishCreation(call, flat, 2);
}

DType DTypeOfNumber(const Value& v) {
  return v.is(ValueKind::kFloat) ? DType::kF32 : v.is(ValueKind::kBool) ? DType::kI1 : DType::kI64;
}

absl::StatusOr<Value> Full(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Shape shape, call.ShapeArg(0));
  DType natural = DTypeOfNumber(call.args[1]);
  if (HostTensor* t = AsTensor(call.args[1])) natural = t->tensor.dtype;
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(2, natural));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(dtype, shape, Fill::kZero));
  TILEVM_RETURN_IF_ERROR(WithLoc(FillWith(t, call.args[1]), call.loc));
  return FinishCreation(call, t, 2);
}

absl::StatusOr<Value> FullLike(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor like, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(2, like.dtype));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, MakeLike(like, dtype, Fill::kZero));
  TILEVM_RETURN_IF_ERROR(WithLoc(FillWith(t, call.args[1]), call.loc));
  return FinishCreation(call, t, 2);
}

absl::StatusOr<Value> Arange(HostCall& call) {
  const auto& values = call.args[0].items();
  if (values.empty() || values.size() > 3) return call.Error("1 to 3 numbers are wanted");
  bool is_float = false;
  std::vector<double> numbers;
  for (const Value& v : values) {
    if (!v.is_static_number()) return call.Error("a number is wanted, not ", specializer::TypeName(v, nullptr));
    is_float = is_float || v.is(ValueKind::kFloat);
    numbers.push_back(v.is(ValueKind::kFloat) ? v.float_value() : static_cast<double>(v.int_value()));
  }
  const double start = numbers.size() > 1 ? numbers[0] : 0, end = numbers.size() > 1 ? numbers[1] : numbers[0];
  const double step = numbers.size() > 2 ? numbers[2] : 1;
  if (step == 0) return call.Error("step must not be zero");
  const double count = std::ceil((end - start) / step);
  if (!(count < 1e12)) return call.Error("too many elements");
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(1, is_float ? DType::kF32 : DType::kI64));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(dtype, {count < 0 ? 0 : static_cast<int64_t>(count)}, Fill::kZero));
  const int64_t n = t.numel();
  for (int64_t i = 0; i < n; ++i) {
    if (is_float) {
      const double x = start + static_cast<double>(i) * step;
      StoreElems(dtype, t.data() + i * t.item_bytes(), 1, &x);
    } else {
      const int64_t x = static_cast<int64_t>(start) + i * static_cast<int64_t>(step);
      StoreElems(dtype, t.data() + i * t.item_bytes(), 1, &x);
    }
  }
  return FinishCreation(call, t, 1);
}

absl::StatusOr<Value> Linspace(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(double start, call.FloatArg(0, 0));
  TILEVM_ASSIGN_OR_RETURN(double end, call.FloatArg(1, 0));
  TILEVM_ASSIGN_OR_RETURN(int64_t steps, call.IntArg(2));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(3, DType::kF32));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(dtype, {steps}, Fill::kZero));
  for (int64_t i = 0; i < steps; ++i) {
    const double x = steps == 1 ? start : (i * 2 < steps ? start + i * ((end - start) / (steps - 1)) : end - (steps - 1 - i) * ((end - start) / (steps - 1)));
    StoreElems(dtype, t.data() + i * t.item_bytes(), 1, &x);
  }
  return FinishCreation(call, t, 3);
}

absl::StatusOr<Value> Eye(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(int64_t n, call.IntArg(0));
  TILEVM_ASSIGN_OR_RETURN(int64_t m, call.IntArg(1, n));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(2, DType::kF32));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(dtype, {n, m}, Fill::kZero));
  const int64_t one = 1;
  for (int64_t i = 0; i < std::min(n, m); ++i) StoreElems(dtype, t.data() + i * (m + 1) * t.item_bytes(), 1, &one);
  return FinishCreation(call, t, 2);
}

// The numbers of nested lists, and their common shape.
absl::Status Flatten(const HostCall& call, const Value& v, size_t depth, Shape& shape, std::vector<Value>& out) {
  if (v.is(ValueKind::kList) || v.is(ValueKind::kTuple)) {
    const int64_t n = static_cast<int64_t>(v.items().size());
    if (depth >= static_cast<size_t>(isa::kMaxRank)) return call.Error(absl::StrCat("nested lists are deeper than ", isa::kMaxRank));
    if (depth == shape.size() && out.empty()) shape.push_back(n);
    if (depth >= shape.size() || shape[depth] != n) return call.Error("nested lists differ in length");
    for (const Value& item : v.items()) TILEVM_RETURN_IF_ERROR(Flatten(call, item, depth + 1, shape, out));
    return absl::OkStatus();
  }
  if (depth != shape.size()) return call.Error("nested lists differ in depth");
  if (HostTensor* t = AsTensor(v); t != nullptr && t->tensor.numel() == 1) {
    out.push_back(ElementAt(t->tensor, 0));
    return absl::OkStatus();
  }
  if (!v.is_static_number()) return call.Error("a number is wanted, not ", specializer::TypeName(v, nullptr));
  out.push_back(v);
  return absl::OkStatus();
}

absl::StatusOr<Value> FromData(HostCall& call) {
  if (HostTensor* source = AsTensor(call.args[0])) {
    TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(1, source->tensor.dtype));
    TILEVM_ASSIGN_OR_RETURN(Tensor cast, CastTo(source->tensor, dtype));
    if (call.tag == 0) {
      TILEVM_ASSIGN_OR_RETURN(cast, Clone(cast));
    }
    return FinishCreation(call, cast, 1);
  }
  Shape shape;
  std::vector<Value> numbers;
  TILEVM_RETURN_IF_ERROR(Flatten(call, call.args[0], 0, shape, numbers));
  DType natural = numbers.empty() ? DType::kF32 : DType::kI1;
  for (const Value& v : numbers) {
    if (v.is(ValueKind::kFloat)) natural = DType::kF32;
    if (v.is(ValueKind::kInt) && natural == DType::kI1) natural = DType::kI64;
  }
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(1, natural));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(dtype, shape, Fill::kZero));
  for (size_t i = 0; i < numbers.size(); ++i) {
    std::byte* at = t.data() + i * t.item_bytes();
    if (absl::Status fits = CheckFits(numbers[i], dtype); !fits.ok()) return InvalidAt(call.loc, fits.message());
    if (numbers[i].is(ValueKind::kFloat) || isa::IsFloat(dtype)) {
      const double x = numbers[i].is(ValueKind::kFloat) ? numbers[i].float_value() : static_cast<double>(numbers[i].int_value());
      StoreElems(dtype, at, 1, &x);
    } else {
      const int64_t x = static_cast<int64_t>(numbers[i].int_value());
      StoreElems(dtype, at, 1, &x);
    }
  }
  return FinishCreation(call, t, 1);
}

constexpr HostOp kOps[] = {
    {"empty", "size* | " TILEVM_CREATION_KEYWORDS, Create, kEmpty},
    {"zeros", "size* | " TILEVM_CREATION_KEYWORDS, Create, kZeros},
    {"ones", "size* | " TILEVM_CREATION_KEYWORDS, Create, kOnes},
    {"empty_like", "input | " TILEVM_CREATION_KEYWORDS, CreateLike, kEmpty},
    {"zeros_like", "input | " TILEVM_CREATION_KEYWORDS, CreateLike, kZeros},
    {"ones_like", "input | " TILEVM_CREATION_KEYWORDS, CreateLike, kOnes},
    {".new_empty", "input size* | " TILEVM_CREATION_KEYWORDS, CreateNew, kEmpty},
    {".new_zeros", "input size* | " TILEVM_CREATION_KEYWORDS, CreateNew, kZeros},
    {".new_ones", "input size* | " TILEVM_CREATION_KEYWORDS, CreateNew, kOnes},
    {".new_full", "input size fill_value | " TILEVM_CREATION_KEYWORDS, NewFull},
    {"empty_strided", "size stride | " TILEVM_CREATION_KEYWORDS, EmptyStrided},
    {"full", "size fill_value/value | " TILEVM_CREATION_KEYWORDS, Full},
    {"full_like", "input fill_value/value | " TILEVM_CREATION_KEYWORDS, FullLike},
    {"arange", "numbers* | " TILEVM_CREATION_KEYWORDS, Arange},
    {"linspace", "start end steps | " TILEVM_CREATION_KEYWORDS, Linspace},
    {"eye", "n m? | " TILEVM_CREATION_KEYWORDS, Eye},
    {"tensor", "data | " TILEVM_CREATION_KEYWORDS, FromData, 0},
    {"as_tensor asarray", "data | " TILEVM_CREATION_KEYWORDS, FromData, 1},
};

}  // namespace

absl::Span<const HostOp> CreationOps() { return kOps; }

}  // namespace tilevm::vm::host
