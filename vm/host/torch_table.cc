#include "vm/host/torch_table.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "specializer/partial_eval/exceptions.h"
#include "vm/host/host.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

struct Index {
  absl::flat_hash_map<absl::string_view, const HostOp*> functions;
  absl::flat_hash_map<absl::string_view, const HostOp*> methods;
  absl::flat_hash_set<absl::string_view> namespaces;
};

const Index& TheIndex() {
  static const Index* index = [] {
    auto* i = new Index;
    for (absl::Span<const HostOp> family :
         {CreationOps(), RandomOps(), ShapeOps(), ElementwiseOps(), ReduceOps(), LinearOps(), SelectOps(), NnOps(), TestingOps(), DeviceOps()}) {
      for (const HostOp& op : family) {
        for (absl::string_view name : absl::StrSplit(op.names, ' ', absl::SkipEmpty())) {
          if (absl::ConsumePrefix(&name, ".")) {
            i->methods[name] = &op;
            continue;
          }
          i->functions[name] = &op;
          for (size_t dot = name.find('.'); dot != absl::string_view::npos; dot = name.find('.', dot + 1)) i->namespaces.insert(name.substr(0, dot));
        }
      }
    }
    return i;
  }();
  return *index;
}

struct ParamSpec {
  std::vector<absl::string_view> spellings;
  bool optional = false;
  bool variadic = false;
  bool keyword_only = false;
};

std::vector<ParamSpec> ParseParams(absl::string_view text) {
  std::vector<ParamSpec> specs;
  bool keyword_only = false;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (word == "|") {
      keyword_only = true;
      continue;
    }
    ParamSpec spec;
    spec.keyword_only = keyword_only;
    spec.optional = absl::ConsumeSuffix(&word, "?");
    spec.variadic = absl::ConsumeSuffix(&word, "*");
    spec.spellings = absl::StrSplit(word, '/');
    specs.push_back(spec);
  }
  return specs;
}

// A call that does not fit the function.
absl::Status Wrong(absl::Status status) { return specializer::WithException(std::move(status), "builtins.TypeError"); }

bool IsSequence(const Value& v) { return v.is(ValueKind::kTuple) || v.is(ValueKind::kList); }

}  // namespace

const HostOp* FindTorchFunction(absl::string_view path) {
  const auto it = TheIndex().functions.find(path);
  return it == TheIndex().functions.end() ? nullptr : it->second;
}

const HostOp* FindTensorMethod(absl::string_view name) {
  const auto it = TheIndex().methods.find(name);
  return it == TheIndex().methods.end() ? nullptr : it->second;
}

void ForEachTorchName(absl::FunctionRef<void(absl::string_view)> visit) {
  for (const auto& [name, op] : TheIndex().functions) visit(name);
}

bool IsTorchNamespace(absl::string_view path) { return TheIndex().namespaces.contains(path); }

absl::StatusOr<Value> CallHostOp(Evaluator& evaluator, const HostOp& op, absl::string_view shown, const Value& self, const CallArgs& args, Loc loc) {
  const std::vector<ParamSpec> specs = ParseParams(op.params);
  HostCall call{evaluator, World(evaluator), shown, op.tag, std::vector<Value>(specs.size()), {}, loc};
  for (const ParamSpec& spec : specs) call.params.push_back(spec.spellings[0]);

  std::vector<Value> positional;
  if (!self.absent()) positional.push_back(self);
  positional.insert(positional.end(), args.positional.begin(), args.positional.end());
  size_t next = 0;
  for (size_t p = 0; p < specs.size() && next < positional.size(); ++p) {
    if (specs[p].keyword_only) break;
    if (!specs[p].variadic) {
      call.args[p] = positional[next++];
    } else if (IsSequence(positional[next]) && next + 1 == positional.size()) {
      call.args[p] = positional[next++];
    } else {
      call.args[p] = Value::Tuple(std::vector<Value>(positional.begin() + next, positional.end()));
      next = positional.size();
    }
  }
  if (next < positional.size()) return Wrong(call.Error("too many positional arguments: ", positional.size(), " given, at most ", next, " taken"));
  for (const auto& [name, value] : args.keyword) {
    size_t p = 0;
    for (; p < specs.size(); ++p) {
      if (std::find(specs[p].spellings.begin(), specs[p].spellings.end(), name) != specs[p].spellings.end()) break;
    }
    if (p == specs.size()) return Wrong(call.Error("unexpected keyword argument '", name, "'"));
    if (call.given(p)) return Wrong(call.Error("argument '", name, "' is given twice"));
    call.args[p] = value;
  }
  for (size_t p = 0; p < specs.size(); ++p) {
    if (specs[p].variadic && !call.given(p)) call.args[p] = Value::Tuple({});
    if (!call.given(p) && !specs[p].optional) return Wrong(call.Error("missing argument '", specs[p].spellings[0], "'"));
  }
  absl::StatusOr<Value> result = op.function(call);
  if (!result.ok() && !LocOf(result.status()).known()) {
    return MakeErrorAt(loc, result.status().code(), absl::StrCat(shown, ": ", result.status().message()));
  }
  if (result.ok() && !op.sets_device) {
    bool on_cpu = false, explicit_device = false;
    for (size_t p = 0; p < specs.size(); ++p) {
      const HostTensor* t = AsTensor(call.args[p]);
      on_cpu = on_cpu || (t != nullptr && t->tensor.cpu_label);
      explicit_device = explicit_device || (call.params[p] == "device" && call.given_not_none(p));
    }
    if (on_cpu && !explicit_device) LabelCpu(*result);
  }
  return result;
}

absl::StatusOr<Tensor> HostCall::TensorArg(size_t i) const {
  if (HostTensor* t = AsTensor(args[i])) return t->tensor;
  return Wrong(Error("argument '", params[i], "' must be a torch.Tensor, not ", specializer::TypeName(args[i], nullptr)));
}

absl::StatusOr<Tensor> HostCall::TensorOrNumber(size_t i) const {
  TILEVM_ASSIGN_OR_RETURN(Operand operand, MakeOperand(args[i], name, loc));
  if (!operand.is_tensor && operand.number.is(ValueKind::kFloat)) return CastTo(operand.tensor, DType::kF32);
  return operand.tensor;
}

absl::StatusOr<int64_t> HostCall::IntArg(size_t i) const {
  const Value& v = args[i];
  if (v.is(ValueKind::kInt) || v.is(ValueKind::kBool)) return static_cast<int64_t>(v.int_value());
  if (HostTensor* t = AsTensor(v); t != nullptr && t->tensor.numel() == 1 && !isa::IsFloat(t->tensor.dtype)) {
    return static_cast<int64_t>(ElementAt(t->tensor, 0).int_value());
  }
  return Wrong(Error("argument '", params[i], "' must be an int, not ", specializer::TypeName(v, nullptr)));
}

absl::StatusOr<int64_t> HostCall::IntArg(size_t i, int64_t otherwise) const {
  if (args[i].absent_or_none()) return otherwise;
  return IntArg(i);
}

absl::StatusOr<double> HostCall::FloatArg(size_t i, double otherwise) const {
  const Value& v = args[i];
  if (v.absent_or_none()) return otherwise;
  if (v.is(ValueKind::kFloat)) return v.float_value();
  if (v.is_static_number()) return static_cast<double>(v.int_value());
  if (HostTensor* t = AsTensor(v); t != nullptr && t->tensor.numel() == 1) {
    const Value item = ElementAt(t->tensor, 0);
    return item.is(ValueKind::kFloat) ? item.float_value() : static_cast<double>(item.int_value());
  }
  return Wrong(Error("argument '", params[i], "' must be a number, not ", specializer::TypeName(v, nullptr)));
}

absl::StatusOr<bool> HostCall::BoolArg(size_t i, bool otherwise) const {
  if (args[i].absent_or_none()) return otherwise;
  if (args[i].is(ValueKind::kBool) || args[i].is(ValueKind::kInt)) return args[i].int_value() != 0;
  return Wrong(Error("argument '", params[i], "' must be a bool, not ", specializer::TypeName(args[i], nullptr)));
}

absl::StatusOr<DType> HostCall::DTypeArg(size_t i, DType otherwise) const {
  const Value& v = args[i];
  if (v.absent_or_none()) return otherwise;
  if (v.is(ValueKind::kDType)) return v.dtype();
  if (v.is(ValueKind::kBuiltin)) {
    if (v.string() == "float") return DType::kF32;
    if (v.string() == "int") return DType::kI64;
    if (v.string() == "bool") return DType::kI1;
  }
  return Wrong(Error("argument '", params[i], "' must be a torch.dtype, not ", specializer::TypeName(v, nullptr)));
}

absl::StatusOr<Shape> HostCall::ShapeArg(size_t i) const {
  const Value& v = args[i];
  Shape shape;
  if (IsSequence(v)) {
    for (const Value& item : v.items()) {
      if (HostTensor* t = AsTensor(item); t != nullptr && t->tensor.numel() == 1 && !isa::IsFloat(t->tensor.dtype)) {
        shape.push_back(static_cast<int64_t>(ElementAt(t->tensor, 0).int_value()));
        continue;
      }
      if (!item.is(ValueKind::kInt) && !item.is(ValueKind::kBool)) {
        return Wrong(Error("argument '", params[i], "' must be ints, not ", specializer::TypeName(item, nullptr)));
      }
      shape.push_back(static_cast<int64_t>(item.int_value()));
    }
    return shape;
  }
  TILEVM_ASSIGN_OR_RETURN(int64_t extent, IntArg(i));
  shape.push_back(extent);
  return shape;
}

namespace {
absl::StatusOr<int> WrapDim(const HostCall& call, int64_t dim, int rank) {
  const int64_t extent = std::max(rank, 1);
  if (dim < -extent || dim >= extent) {
    return specializer::WithException(call.Error("dimension out of range (expected to be in range of [", -extent, ", ", extent - 1, "], but got ", dim, ")"),
                                      "builtins.IndexError");
  }
  return static_cast<int>(dim < 0 ? dim + extent : dim);
}
}  // namespace

absl::StatusOr<int> HostCall::DimArg(size_t i, int rank, std::optional<int> otherwise) const {
  int64_t dim;
  if (args[i].absent_or_none() && otherwise.has_value()) {
    dim = *otherwise;
  } else {
    TILEVM_ASSIGN_OR_RETURN(dim, IntArg(i));
  }
  return WrapDim(*this, dim, rank);
}

absl::StatusOr<std::vector<int>> HostCall::DimsArg(size_t i, int rank) const {
  std::vector<int> dims;
  if (args[i].absent_or_none() || (IsSequence(args[i]) && args[i].items().empty())) {
    for (int d = 0; d < rank; ++d) dims.push_back(d);
    return dims;
  }
  TILEVM_ASSIGN_OR_RETURN(Shape given, ShapeArg(i));
  for (int64_t dim : given) {
    TILEVM_ASSIGN_OR_RETURN(int d, WrapDim(*this, dim, rank));
    if (std::find(dims.begin(), dims.end(), d) != dims.end()) return Error("dim ", d, " appears twice");
    if (rank > 0) dims.push_back(d);
  }
  return dims;
}

absl::StatusOr<Value> FinishCreation(HostCall& call, Tensor tensor, size_t first) {
  TILEVM_RETURN_IF_ERROR(call.world.CheckDevice(call.args[first + 1], call.loc));
  tensor.cpu_label = NamesCpu(call.args[first + 1]);
  if (call.given_not_none(first + 7)) {
    TILEVM_ASSIGN_OR_RETURN(Tensor out, call.TensorArg(first + 7));
    TILEVM_RETURN_IF_ERROR(CopyInto(out, tensor));
    return call.args[first + 7];
  }
  TILEVM_ASSIGN_OR_RETURN(bool requires_grad, call.BoolArg(first + 2, false));
  Value result = MakeTensorValue(std::move(tensor));
  AsTensor(result)->requires_grad = requires_grad;
  return result;
}

}  // namespace tilevm::vm::host
