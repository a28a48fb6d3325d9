// The one table of host ops: what `torch.*` and the methods of a tensor mean.
//
// A row has the names under which it is called, its parameters, and the function. Names: "exp" is torch.exp, ".exp" the method of a tensor
// (the tensor is the first parameter), "nn.functional.relu" torch.nn.functional.relu. Parameters, in order: "input" must be given, "dim?" may
// be left out, "dim/axis?" has two spellings, "size*" takes the rest of the positional arguments (or one sequence, or the keyword), and after
// "|" only keywords follow. The table binds and checks the arguments; a function sees them by place, kAbsent where one was not given.
#ifndef TILEVM_VM_HOST_TORCH_TABLE_H_
#define TILEVM_VM_HOST_TORCH_TABLE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "vm/host/tensor.h"

namespace tilevm::vm::host {

class HostWorld;

struct HostCall {
  Evaluator& evaluator;
  HostWorld& world;
  absl::string_view name;  // as a message says it: "torch.exp"
  int tag;                 // the row's
  std::vector<Value> args;
  std::vector<absl::string_view> params;
  Loc loc;

  bool given(size_t i) const { return !args[i].absent(); }
  bool given_not_none(size_t i) const { return !args[i].absent_or_none(); }

  absl::StatusOr<Tensor> TensorArg(size_t i) const;
  // A tensor, or a number as a 0-d tensor of its default dtype.
  absl::StatusOr<Tensor> TensorOrNumber(size_t i) const;
  absl::StatusOr<int64_t> IntArg(size_t i) const;
  absl::StatusOr<int64_t> IntArg(size_t i, int64_t otherwise) const;
  absl::StatusOr<double> FloatArg(size_t i, double otherwise) const;
  absl::StatusOr<bool> BoolArg(size_t i, bool otherwise) const;
  absl::StatusOr<DType> DTypeArg(size_t i, DType otherwise) const;
  absl::StatusOr<Shape> ShapeArg(size_t i) const;   // of an int or a sequence of ints
  // A dimension counted from 0; negative ones from the end.
  absl::StatusOr<int> DimArg(size_t i, int rank, std::optional<int> otherwise = std::nullopt) const;
  // None or absent: every dimension.
  absl::StatusOr<std::vector<int>> DimsArg(size_t i, int rank) const;

  // kInvalidArgument with the call's name and place.
  template <typename... Parts>
  absl::Status Error(const Parts&... parts) const {
    return InvalidAt(loc, name, ": ", parts...);
  }
};

using HostFunction = absl::StatusOr<Value> (*)(HostCall& call);

struct HostOp {
  absl::string_view names;
  absl::string_view params;
  HostFunction function;
  int tag = 0;
  bool sets_device = false;  // the result's device is not that of the arguments
};

// The rows, by family.
absl::Span<const HostOp> CreationOps();     // torch_create.cc
absl::Span<const HostOp> RandomOps();       // torch_random.cc
absl::Span<const HostOp> ShapeOps();        // torch_shape.cc
absl::Span<const HostOp> ElementwiseOps();  // torch_elementwise.cc
absl::Span<const HostOp> ReduceOps();       // torch_reduce.cc
absl::Span<const HostOp> LinearOps();       // torch_linear.cc
absl::StatusOr<Value> EinsumOp(HostCall& call);  // torch_einsum.cc
absl::Span<const HostOp> SelectOps();       // torch_select.cc
absl::Span<const HostOp> NnOps();           // torch_nn.cc
absl::Span<const HostOp> TestingOps();      // torch_testing.cc
absl::Span<const HostOp> DeviceOps();       // torch_device.cc

// Null if there is no such row. path is without "torch."; method without the point.
const HostOp* FindTorchFunction(absl::string_view path);
const HostOp* FindTensorMethod(absl::string_view name);
// True if some function lies below it: "cuda", "nn.functional".
bool IsTorchNamespace(absl::string_view path);
// torch_names.cc: is it a name of torch at all? path is without "torch.".
specializer::OutsideName LookUpTorchName(absl::string_view path);
bool IsTensorAttribute(absl::string_view name);  // does torch's own Tensor have it?
void ForEachTorchName(absl::FunctionRef<void(absl::string_view)> visit);  // the functions of the table

// self: the tensor whose method it is, or absent. shown: the name in messages.
absl::StatusOr<Value> CallHostOp(Evaluator& evaluator, const HostOp& op, absl::string_view shown, const Value& self, const CallArgs& args, Loc loc);

// The keywords that every function making a tensor has; the function reads dtype, and requires_grad through FinishCreation.
#define TILEVM_CREATION_KEYWORDS "dtype? device? requires_grad? layout? pin_memory? generator? memory_format? out?"
// first: the place of dtype.
absl::StatusOr<Value> FinishCreation(HostCall& call, Tensor tensor, size_t first);

// torch's type promotion of two operands (tensors, or Python numbers: weak).
struct Operand {
  bool is_tensor = false;
  Tensor tensor;      // a number as a 0-d tensor of f64, i64 or i1
  Value number;
};
absl::StatusOr<Operand> MakeOperand(const Value& value, absl::string_view callee, Loc loc);
absl::StatusOr<DType> PromoteOperands(const std::vector<Operand>& operands);
absl::StatusOr<DType> PromoteDTypes(DType a, DType b);

// x op y: every binary operator of Python on tensors.
absl::StatusOr<Value> BinaryOperator(Evaluator& evaluator, isa::Op op, const Value& x, const Value& y, Loc loc);
// What an operation computed goes into `target`, in place; torch's demands on shape and dtype.
absl::Status StoreResult(const Tensor& target, const Tensor& result, Loc loc);
absl::StatusOr<Tensor> MatMul(const Tensor& a, const Tensor& b);

}  // namespace tilevm::vm::host

#endif  // TILEVM_VM_HOST_TORCH_TABLE_H_
