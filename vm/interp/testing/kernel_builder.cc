#include "vm/interp/testing/kernel_builder.h"

namespace tilevm::vm::testing {
namespace {

bool IsCompare(isa::Op op) {
  using isa::Op;
  return op == Op::kLt || op == Op::kLe || op == Op::kGt || op == Op::kGe || op == Op::kEq || op == Op::kNe || op == Op::kIsNan ||
         op == Op::kIsInf || op == Op::kIsFinite;
}

}  // namespace

ValueId KernelBuilder::Pointer(DType pointee, const std::string& name) {
  const ValueId id = kernel_.NewValue(isa::PointerType(pointee), name);
  kernel_.params.push_back({id, name, static_cast<int>(kernel_.params.size()), 1, Here()});
  return id;
}

ValueId KernelBuilder::Param(DType dtype, const std::string& name) {
  const ValueId id = kernel_.NewValue(isa::ScalarType(dtype), name);
  kernel_.params.push_back({id, name, static_cast<int>(kernel_.params.size()), 1, Here()});
  return id;
}

ValueId KernelBuilder::Arange(int64_t start, int64_t end) {
  return Make(isa::Op::kArange, isa::TileType(DType::kI32, {end - start}), {}, {{"start", start}, {"end", end}});
}

ValueId KernelBuilder::ProgramId(int axis) {
  return Make(isa::Op::kProgramId, isa::ScalarType(DType::kI32), {}, {{"axis", int64_t{axis}}});
}

ValueId KernelBuilder::Do(isa::Op op, std::initializer_list<ValueId> operands) {
  isa::Type type = TypeOf(*(operands.end() - 1));
  if (IsCompare(op)) type.elem = {DType::kI1, false};
  return Make(op, type, operands);
}

ValueId KernelBuilder::Cast(ValueId x, DType to) { return Make(isa::Op::kCast, isa::Type{{to, false}, TypeOf(x).shape}, {x}); }

ValueId KernelBuilder::Make(isa::Op op, isa::Type result, Values operands, std::vector<ir::NamedAttr> attrs) {
  return builder_.Emit(op, std::move(result), operands, Here(), attrs);
}

void KernelBuilder::MakeVoid(isa::Op op, Values operands, std::vector<ir::NamedAttr> attrs) {
  builder_.EmitVoid(op, operands, Here(), attrs);
}

Values KernelBuilder::MakeMany(isa::Op op, std::vector<isa::Type> results, Values operands, std::vector<ir::NamedAttr> attrs,
                               std::vector<ir::Region> regions) {
  ir::Op made;
  made.op = op;
  made.operands.assign(operands.begin(), operands.end());
  made.attrs.assign(attrs.begin(), attrs.end());
  made.regions = std::move(regions);
  made.loc = Here();
  return builder_.EmitOp(std::move(made), results);
}

ValueId KernelBuilder::PtrAdd(ValueId pointer, ValueId offset) {
  pointer = builder_.Splat(pointer, TypeOf(pointer).shape == TypeOf(offset).shape ? isa::Shape{} : TypeOf(offset).shape, Here());
  return Make(isa::Op::kPtrAdd, TypeOf(pointer), {pointer, offset});
}

ValueId KernelBuilder::Load(ValueId pointer, ValueId mask, ValueId other) {
  isa::Type type = TypeOf(pointer);
  type.elem.pointer = false;
  return Make(isa::Op::kLoad, type, {pointer, mask, other});
}

void KernelBuilder::Store(ValueId pointer, ValueId value, ValueId mask) {
  Values operands = {pointer, value};
  if (mask != ir::kNoValue) operands.push_back(mask);
  MakeVoid(isa::Op::kStore, operands);
}

ValueId KernelBuilder::Atomic(isa::Op op, Values operands, const std::string& sem) {
  return Make(op, TypeOf(operands[1]), operands, {{"sem", sem}, {"scope", std::string("gpu")}});
}

ir::Region KernelBuilder::MakeRegion(const std::vector<isa::Type>& args, const Body& body) {
  ir::Region region;
  for (const isa::Type& type : args) region.args.push_back(kernel_.NewValue(type));
  builder_.PushRegion(&region);
  const Values yielded = body(region.args);
  if (!exited_) builder_.EmitVoid(isa::Op::kYield, yielded, Here());
  exited_ = false;
  builder_.PopRegion();
  return region;
}

Values KernelBuilder::For(ValueId lo, ValueId hi, ValueId step, Values inits, const Body& body) {
  std::vector<isa::Type> args = {TypeOf(lo)}, results;
  for (ValueId id : inits) results.push_back(TypeOf(id));
  args.insert(args.end(), results.begin(), results.end());
  std::vector<ir::Region> regions;
  regions.push_back(MakeRegion(args, body));
  Values operands = {lo, hi, step};
  operands.insert(operands.end(), inits.begin(), inits.end());
  return MakeMany(isa::Op::kFor, results, operands, {}, std::move(regions));
}

Values KernelBuilder::While(Values inits, const Body& cond, const Body& body) {
  std::vector<isa::Type> types;
  for (ValueId id : inits) types.push_back(TypeOf(id));
  std::vector<ir::Region> regions;
  regions.push_back(MakeRegion(types, cond));
  regions.push_back(MakeRegion(types, body));
  return MakeMany(isa::Op::kWhile, types, inits, {}, std::move(regions));
}

Values KernelBuilder::If(ValueId cond, std::vector<isa::Type> results, const Body& then, const Body& otherwise) {
  std::vector<ir::Region> regions;
  regions.push_back(MakeRegion({}, then));
  regions.push_back(MakeRegion({}, otherwise));
  return MakeMany(isa::Op::kIf, results, {cond}, {}, std::move(regions));
}

Values KernelBuilder::Block(std::vector<isa::Type> results, const Body& body) {
  std::vector<ir::Region> regions;
  regions.push_back(MakeRegion({}, body));
  return MakeMany(isa::Op::kBlock, results, {}, {}, std::move(regions));
}

Values KernelBuilder::Exit(int depth, Values values) {
  MakeVoid(isa::Op::kExit, values, {{"depth", int64_t{depth}}});
  exited_ = true;
  return {};
}

ir::Region KernelBuilder::Combine(std::vector<DType> args, const Body& body) {
  std::vector<isa::Type> types;
  for (DType dtype : args) types.push_back(isa::ScalarType(dtype));
  return MakeRegion(types, body);
}

ir::Kernel KernelBuilder::Build() {
  builder_.EmitVoid(isa::Op::kYield, {}, Here());
  return std::move(kernel_);
}

}  // namespace tilevm::vm::testing
