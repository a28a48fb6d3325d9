// Writes typed kernels in tests: one short call for each op, types worked out from the operands.
#ifndef TILEVM_VM_INTERP_TESTING_KERNEL_BUILDER_H_
#define TILEVM_VM_INTERP_TESTING_KERNEL_BUILDER_H_

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "specializer/ir/builder.h"
#include "specializer/ir/kernel.h"
#include "vm/interp/interp.h"

namespace tilevm::vm::testing {

using ir::ValueId;
using isa::DType;
using Values = std::vector<ValueId>;

class KernelBuilder {
 public:
  KernelBuilder() : builder_(&kernel_) { kernel_.name = "test"; }

  // --- parameters ---
  ValueId Pointer(DType pointee, const std::string& name = "p");
  ValueId Param(DType dtype, const std::string& name = "n");

  // --- values ---
  ValueId Int(int64_t value, DType dtype = DType::kI32) { return builder_.ConstInt(dtype, value, Here()); }
  ValueId Float(double value, DType dtype = DType::kF32) { return builder_.ConstFloat(dtype, value, Here()); }
  ValueId Arange(int64_t start, int64_t end);
  ValueId Splat(ValueId scalar, isa::Shape shape) { return builder_.Splat(scalar, shape, Here()); }
  ValueId Broadcast(ValueId tile, isa::Shape shape) { return builder_.Broadcast(tile, shape, Here()); }
  ValueId ProgramId(int axis = 0);
  // Elementwise: the result has the type of the last operand, i1 for comparisons.
  ValueId Do(isa::Op op, std::initializer_list<ValueId> operands);
  ValueId Cast(ValueId x, DType to);
  // Any op with one result.
  ValueId Make(isa::Op op, isa::Type result, Values operands, std::vector<ir::NamedAttr> attrs = {});
  void MakeVoid(isa::Op op, Values operands, std::vector<ir::NamedAttr> attrs = {});
  Values MakeMany(isa::Op op, std::vector<isa::Type> results, Values operands, std::vector<ir::NamedAttr> attrs = {},
                  std::vector<ir::Region> regions = {});

  // --- memory ---
  ValueId PtrAdd(ValueId pointer, ValueId offset);  // a scalar pointer is splat to the offset's shape
  ValueId Load(ValueId pointer, ValueId mask = ir::kNoValue, ValueId other = ir::kNoValue);
  void Store(ValueId pointer, ValueId value, ValueId mask = ir::kNoValue);
  ValueId LoadAt(ValueId base, ValueId offset) { return Load(PtrAdd(base, offset)); }
  void StoreAt(ValueId base, ValueId offset, ValueId value) { Store(PtrAdd(base, offset), value); }
  ValueId Atomic(isa::Op op, Values operands, const std::string& sem = "acq_rel");

  // --- control flow: the function gets the region's arguments and returns what it yields ---
  using Body = std::function<Values(Values)>;
  Values For(ValueId lo, ValueId hi, ValueId step, Values inits, const Body& body);  // body({iv, carried...})
  Values While(Values inits, const Body& cond, const Body& body);                    // cond yields {test, carried...}
  Values If(ValueId cond, std::vector<isa::Type> results, const Body& then, const Body& otherwise);
  Values Block(std::vector<isa::Type> results, const Body& body);
  // Ends a region by leaving a block; the body function returns what this returns.
  Values Exit(int depth, Values values);
  // A region of scalars for reduce, scan and map_elementwise.
  ir::Region Combine(std::vector<DType> args, const Body& body);

  const isa::Type& TypeOf(ValueId id) const { return kernel_.TypeOf(id); }
  // Closes the kernel.
  ir::Kernel Build();
  void At(int line) { line_ = line; }  // place of the ops that follow

 private:
  Loc Here() const { return Loc{0, line_, 1}; }
  ir::Region MakeRegion(const std::vector<isa::Type>& args, const Body& body);

  ir::Kernel kernel_;
  ir::Builder builder_;
  int line_ = 1;
  bool exited_ = false;
};

// A buffer over a vector.
template <typename T>
Buffer BufferOf(std::vector<T>& data, DType dtype, const std::string& name = "buffer") {
  Buffer buffer;
  buffer.data = data.data();
  buffer.bytes = static_cast<int64_t>(data.size() * sizeof(T));
  buffer.dtype = dtype;
  buffer.name = name;
  return buffer;
}

}  // namespace tilevm::vm::testing

#endif  // TILEVM_VM_INTERP_TESTING_KERNEL_BUILDER_H_
