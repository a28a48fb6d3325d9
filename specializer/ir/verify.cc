// Checks a kernel against the op table: operands and results fit the row's signature (one unifier for element types and extents), every value
// is defined once and before its use, regions have the arguments and terminators that their op asks for. Runs after each pass; what it finds
// is a fault of the pass before, so everything is kInternal.
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "specializer/ir/kernel.h"

namespace tilevm::ir {
namespace {

using isa::Type;

template <typename... Parts>
absl::Status Broken(const Op& op, const Parts&... parts) {
  return ErrorAt(op.loc, absl::StatusCode::kInternal, "typed IR: ", isa::Mnemonic(op.op), ": ", parts...);
}

// Ops whose I or T letters do not relate operands and results: their own rule is below or in the interpreter.
bool LettersAreLoose(isa::Op op) {
  return op == isa::Op::kPhilox || op == isa::Op::kHistogram || op == isa::Op::kCopyAsync || op == isa::Op::kGather ||
         op == isa::Op::kReduce || op == isa::Op::kScan || op == isa::Op::kDevicePrint || op == isa::Op::kMapElementwise;
}

class Unifier {
 public:
  Unifier(const Kernel& kernel, const Op& op) : kernel_(kernel), op_(op), loose_(LettersAreLoose(op.op)) {}

  absl::Status Match(const isa::OperandSpec& spec, ValueId id, absl::string_view what) {
    const Type& type = kernel_.TypeOf(id);
    if (spec.letter == 'V' || spec.letter == 'M') return absl::OkStatus();
    if (spec.pointer && !type.elem.pointer) return Broken(op_, what, " ", spec.name, " is ", ToString(type), ", wanted a pointer");
    TILEVM_RETURN_IF_ERROR(MatchLetter(spec, type, what));
    return spec.shape.empty() ? absl::OkStatus() : MatchShape(spec, type, what);
  }

 private:
  static bool InClass(char letter, const isa::ElemType& elem, bool pointer_spec) {
    if (letter == 'F') return (pointer_spec || !elem.pointer) && isa::IsFloat(elem.dtype);
    if (letter == 'I') return (pointer_spec || !elem.pointer) && isa::IsInteger(elem.dtype);
    if (letter == 'B') return !elem.pointer && elem.dtype == isa::DType::kI1;
    if (letter == 'N') return !elem.pointer;
    return true;
  }

  absl::Status MatchLetter(const isa::OperandSpec& spec, const Type& type, absl::string_view what) {
    if (!InClass(spec.letter, type.elem, spec.pointer)) {
      return Broken(op_, what, " ", spec.name, " is ", ToString(type), ", not allowed by ", isa::Info(op_.op).signature);
    }
    if (loose_ || spec.letter == 'B') return absl::OkStatus();
    isa::ElemType elem = type.elem;
    if (spec.pointer) elem.pointer = false;
    auto [entry, fresh] = letters_.try_emplace(spec.letter, elem);
    if (!fresh && entry->second != elem) {
      return Broken(op_, what, " ", spec.name, " is ", ToString(type), ", ", std::string(1, spec.letter), " is already ", ToString(entry->second));
    }
    return absl::OkStatus();
  }

  absl::Status MatchShape(const isa::OperandSpec& spec, const Type& type, absl::string_view what) {
    if (spec.shape == "S") return BindShape(spec, "S", type.shape, type, what);
    std::vector<absl::string_view> names = absl::StrSplit(spec.shape, ',');
    const bool leading = !names.empty() && names[0].substr(0, 3) == "...";
    const size_t fixed = names.size() - (leading ? 1 : 0);
    if (type.shape.size() < fixed || (!leading && type.shape.size() != fixed)) {
      return Broken(op_, what, " ", spec.name, " is ", ToString(type), ", wanted shape [", spec.shape, "]");
    }
    const size_t lead = type.shape.size() - fixed;
    if (leading) TILEVM_RETURN_IF_ERROR(BindShape(spec, names[0], isa::Shape(type.shape.begin(), type.shape.begin() + lead), type, what));
    for (size_t i = 0; i < fixed; ++i) {
      const isa::Shape extent = {type.shape[lead + i]};
      TILEVM_RETURN_IF_ERROR(BindShape(spec, names[i + (leading ? 1 : 0)], extent, type, what));
    }
    return absl::OkStatus();
  }

  absl::Status BindShape(const isa::OperandSpec& spec, absl::string_view name, const isa::Shape& shape, const Type& type,
                         absl::string_view what) {
    auto [entry, fresh] = shapes_.try_emplace(std::string(name), shape);
    if (fresh || entry->second == shape) return absl::OkStatus();
    return Broken(op_, what, " ", spec.name, " is ", ToString(type), ", ", name, " is already ", isa::ShapeToString(entry->second));
  }

  const Kernel& kernel_;
  const Op& op_;
  const bool loose_;
  absl::flat_hash_map<char, isa::ElemType> letters_;
  absl::flat_hash_map<std::string, isa::Shape> shapes_;
};

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel), defined_(kernel.values.size()), visible_(kernel.values.size()) {}

  absl::Status Run() {
    for (const Param& param : kernel_.params) {
      if (!DefineValue(param.value)) return ErrorAt(param.loc, absl::StatusCode::kInternal, "typed IR: parameter ", param.name, " is not one new value");
    }
    if (!kernel_.body.args.empty()) return ErrorAt(kernel_.loc, absl::StatusCode::kInternal, "typed IR: the kernel's body has arguments");
    TILEVM_RETURN_IF_ERROR(CheckRegion(kernel_.body, kernel_.loc));
    if (!kernel_.body.ops.back().operands.empty()) return Broken(kernel_.body.ops.back(), "a kernel has no results");
    return absl::OkStatus();
  }

 private:
  bool DefineValue(ValueId id) {
    if (id >= defined_.size() || defined_[id]) return false;
    defined_[id] = visible_[id] = true;
    scope_.push_back(id);
    return true;
  }

  absl::Status CheckRegion(const Region& region, Loc loc) {
    const size_t outer = scope_.size();
    for (ValueId arg : region.args) {
      if (!DefineValue(arg)) return ErrorAt(loc, absl::StatusCode::kInternal, "typed IR: a region argument is defined twice or unknown");
    }
    if (region.ops.empty()) return ErrorAt(loc, absl::StatusCode::kInternal, "typed IR: an empty region; it needs a terminator");
    for (size_t i = 0; i < region.ops.size(); ++i) {
      const Op& op = region.ops[i];
      const bool terminator = op.op == isa::Op::kYield || op.op == isa::Op::kExit;
      if (terminator != (i + 1 == region.ops.size())) return Broken(op, terminator ? "not the last op of its region" : "the region ends without yield or exit");
      TILEVM_RETURN_IF_ERROR(CheckOp(op));
    }
    while (scope_.size() > outer) {  // values of a region are not seen after it
      visible_[scope_.back()] = false;
      scope_.pop_back();
    }
    return absl::OkStatus();
  }

  absl::Status CheckOp(const Op& op) {
    const isa::OpInfo& info = isa::Info(op.op);
    if (info.level == isa::Level::kLibrary || (info.level == isa::Level::kStatic && op.op != isa::Op::kConst)) {
      return Broken(op, "an op of bytecode only");
    }
    for (ValueId id : op.operands) {
      if (id != kNoValue && (id >= visible_.size() || !visible_[id])) return Broken(op, "operand ", id, " is not defined here");
    }
    const bool loop = op.op == isa::Op::kFor || op.op == isa::Op::kWhile;
    if (loop || op.op == isa::Op::kIf || op.op == isa::Op::kBlock || op.op == isa::Op::kExit || op.op == isa::Op::kYield ||
        op.op == isa::Op::kConst || op.op == isa::Op::kInlineAsm || op.op == isa::Op::kDotScaled) {
      TILEVM_RETURN_IF_ERROR(CheckControl(op));
    } else {
      TILEVM_RETURN_IF_ERROR(CheckSignature(op, info));
    }
    if (op.op == isa::Op::kBlock) blocks_.push_back(&op);
    for (const Region& region : op.regions) {
      TILEVM_RETURN_IF_ERROR(CheckRegion(region, op.loc));
      TILEVM_RETURN_IF_ERROR(CheckYield(op, region));
    }
    if (op.op == isa::Op::kBlock) blocks_.pop_back();
    for (ValueId id : op.results) {
      if (!DefineValue(id)) return Broken(op, "result ", id, " is defined twice or unknown");
    }
    return absl::OkStatus();
  }

  absl::Status CheckSignature(const Op& op, const isa::OpInfo& info) {
    Unifier unifier(kernel_, op);
    size_t next = 0;
    for (const isa::OperandSpec& spec : info.operands) {
      if (spec.kind != isa::OperandKind::kValue) continue;  // attributes and regions
      if (spec.variadic) {
        for (; next < op.operands.size(); ++next) TILEVM_RETURN_IF_ERROR(unifier.Match(spec, op.operands[next], "operand"));
        break;
      }
      const ValueId id = op.operand(next++);
      if (id == kNoValue) {
        if (!spec.optional) return Broken(op, "operand ", spec.name, " is missing");
        continue;
      }
      TILEVM_RETURN_IF_ERROR(unifier.Match(spec, id, "operand"));
    }
    if (next < op.operands.size()) return Broken(op, "has ", op.operands.size(), " operands; signature ", info.signature);
    const bool many = !info.results.empty() && info.results.back().variadic;
    if (!many && op.results.size() != info.results.size()) return Broken(op, "has ", op.results.size(), " results; signature ", info.signature);
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (op.results[i] >= kernel_.values.size()) return Broken(op, "result ", op.results[i], " is unknown");
      if (!many) TILEVM_RETURN_IF_ERROR(unifier.Match(info.results[i], op.results[i], "result"));
    }
    return CheckShapes(op);
  }

  // What letters cannot say: element counts of the shape ops.
  absl::Status CheckShapes(const Op& op) {
    if (op.operands.empty() || op.results.empty()) return absl::OkStatus();
    const Type& x = kernel_.TypeOf(op.operands[0]);
    const Type& r = kernel_.TypeOf(op.results[0]);
    const int64_t factor = op.op == isa::Op::kCat || op.op == isa::Op::kJoin ? 2 : 1;
    switch (op.op) {
      case isa::Op::kReshape: case isa::Op::kExpandDims: case isa::Op::kPermute: case isa::Op::kCat: case isa::Op::kJoin:
        if (r.elem_count() != x.elem_count() * factor) return Broken(op, "from ", ToString(x), " to ", ToString(r), ": element counts differ");
        return absl::OkStatus();
      case isa::Op::kBroadcast:
        if (x.rank() != r.rank()) return Broken(op, "from ", ToString(x), " to ", ToString(r), ": ranks differ");
        for (int i = 0; i < x.rank(); ++i) {
          if (x.shape[i] != r.shape[i] && x.shape[i] != 1) return Broken(op, "from ", ToString(x), " to ", ToString(r), ": dimension ", i);
        }
        return absl::OkStatus();
      case isa::Op::kSplat:
        return x.is_scalar() ? absl::OkStatus() : Broken(op, "of ", ToString(x), ", wanted a scalar");
      case isa::Op::kReduce: case isa::Op::kScan: {
        const int64_t axis = op.IntAttr("axis", -1);
        if (axis < 0 || axis >= x.rank()) return Broken(op, "axis ", axis, " of ", ToString(x));
        if (op.results.size() != op.operands.size()) return Broken(op, op.operands.size(), " operands and ", op.results.size(), " results");
        return absl::OkStatus();
      }
      default:
        return absl::OkStatus();
    }
  }

  absl::Status CheckControl(const Op& op) {
    const auto same = [&](size_t operands_from, size_t regions_args_from, const Region* region) -> absl::Status {
      const size_t carried = op.operands.size() - operands_from;
      if (op.results.size() != carried) return Broken(op, carried, " carried values and ", op.results.size(), " results");
      if (region->args.size() != carried + regions_args_from) return Broken(op, "the region has ", region->args.size(), " arguments");
      for (size_t i = 0; i < carried; ++i) {
        const ValueId init = op.operands[operands_from + i], arg = region->args[regions_args_from + i];
        if (arg >= kernel_.values.size() || op.results[i] >= kernel_.values.size()) return Broken(op, "unknown value");
        if (init == kNoValue || kernel_.TypeOf(init) != kernel_.TypeOf(arg) || kernel_.TypeOf(arg) != kernel_.TypeOf(op.results[i])) {
          return Broken(op, "carried value ", i, " changes its type: ", ToString(kernel_.TypeOf(arg)));
        }
      }
      return absl::OkStatus();
    };
    switch (op.op) {
      case isa::Op::kFor:
        if (op.regions.size() != 1 || op.operands.size() < 3) return Broken(op, "wants lo, hi, step and one region");
        for (int i = 0; i < 3; ++i) {
          if (op.operands[i] == kNoValue) return Broken(op, "bound ", i, " is missing");
          const Type& bound = kernel_.TypeOf(op.operands[i]);
          if (!bound.is_scalar() || bound.elem.pointer || !isa::IsInteger(bound.elem.dtype)) return Broken(op, "bound ", i, " is ", ToString(bound));
        }
        return same(3, 1, &op.regions[0]);
      case isa::Op::kWhile:
        if (op.regions.size() != 2) return Broken(op, "wants two regions");
        TILEVM_RETURN_IF_ERROR(same(0, 0, &op.regions[0]));
        return same(0, 0, &op.regions[1]);
      case isa::Op::kIf:
        if (op.regions.size() != 2 || op.operands.size() != 1) return Broken(op, "wants a condition and two regions");
        if (kernel_.TypeOf(op.operands[0]) != isa::ScalarType(isa::DType::kI1)) return Broken(op, "the condition is ", ToString(kernel_.TypeOf(op.operands[0])));
        return absl::OkStatus();
      case isa::Op::kBlock:
        return op.regions.size() == 1 ? absl::OkStatus() : Broken(op, "wants one region");
      case isa::Op::kExit: {
        const int64_t depth = op.IntAttr("depth", 0);
        if (depth < 0 || depth >= static_cast<int64_t>(blocks_.size())) return Broken(op, "depth ", depth, " in ", blocks_.size(), " blocks");
        return CheckValues(op, op.operands, blocks_[blocks_.size() - 1 - depth]->results, 0);
      }
      case isa::Op::kConst:
        return op.results.size() == 1 && op.FindAttr("value") != nullptr ? absl::OkStatus() : Broken(op, "wants attribute value and one result");
      default:
        return absl::OkStatus();
    }
  }

  absl::Status CheckValues(const Op& at, absl::Span<const ValueId> from, absl::Span<const ValueId> to, size_t skip) {
    if (from.size() != to.size() + skip) return Broken(at, "gives ", from.size(), " values, wanted ", to.size() + skip);
    for (size_t i = 0; i < to.size(); ++i) {
      if (from[i + skip] == kNoValue) return Broken(at, "value ", i, " is missing");
      if (to[i] >= kernel_.values.size() || kernel_.TypeOf(from[i + skip]) != kernel_.TypeOf(to[i])) {
        return Broken(at, "value ", i, " is ", ToString(kernel_.TypeOf(from[i + skip])), ", which is not what the enclosing op gives");
      }
    }
    return absl::OkStatus();
  }

  // The region's yield gives what its op wants (an exit was checked against its block).
  absl::Status CheckYield(const Op& op, const Region& region) {
    const Op& last = region.ops.back();
    if (last.op != isa::Op::kYield) return absl::OkStatus();
    if (op.op == isa::Op::kWhile && &region == &op.regions[0]) {
      if (last.operands.empty() || kernel_.TypeOf(last.operands[0]) != isa::ScalarType(isa::DType::kI1)) return Broken(last, "the loop's test is not i1");
      return CheckValues(last, last.operands, op.results, 1);
    }
    if (op.op == isa::Op::kReduce || op.op == isa::Op::kScan || op.op == isa::Op::kMapElementwise) {
      return absl::OkStatus();  // scalars of the results' element types; the interpreter checks the count when it compiles
    }
    return CheckValues(last, last.operands, op.results, 0);
  }

  const Kernel& kernel_;
  std::vector<char> defined_;
  std::vector<char> visible_;
  std::vector<ValueId> scope_;
  std::vector<const Op*> blocks_;
};

}  // namespace

absl::Status Verify(const Kernel& kernel) { return Verifier(kernel).Run(); }

}  // namespace tilevm::ir
