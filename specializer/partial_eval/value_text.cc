// What a value is called and how it prints: TypeName, and Python's repr() and str() as far as they need no method of a class (value.h).
#include "specializer/partial_eval/value.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "specializer/partial_eval/python_format.h"

namespace tilevm::specializer {

std::string TypeName(const Value& value, const ir::Kernel* kernel) {
  switch (value.kind()) {
    case ValueKind::kAbsent: return "nothing";
    case ValueKind::kUnbound: return "an unbound name";
    case ValueKind::kNone: return "NoneType";
    case ValueKind::kEllipsis: return "ellipsis";
    case ValueKind::kBool: return "bool";
    case ValueKind::kInt: return "int";
    case ValueKind::kFloat: return "float";
    case ValueKind::kString: return "str";
    case ValueKind::kDType: return "dtype";
    case ValueKind::kPointerType: return "pointer_type";
    case ValueKind::kBlockType: return "block_type";
    case ValueKind::kTuple: {
      const std::string& name = value.As<ItemsPayload>()->class_name;
      return name.empty() ? "tuple" : name;
    }
    case ValueKind::kList: return "list";
    case ValueKind::kDict: {
      const std::string& name = value.As<DictPayload>()->class_name;
      return name.empty() ? "dict" : name;
    }
    case ValueKind::kSet: return value.As<SetPayload>()->frozen ? "frozenset" : "set";
    case ValueKind::kRange: return "range";
    case ValueKind::kSlice: return "slice";
    case ValueKind::kFunction: return "function";
    case ValueKind::kJitFunction: return "JITFunction";
    case ValueKind::kBoundMethod: return "method";
    case ValueKind::kBuiltin: return absl::StrCat("builtin ", value.string());
    case ValueKind::kUnit: return "module";
    case ValueKind::kClass: return "type";
    case ValueKind::kInstance: {
      const Value& type = value.As<InstancePayload>()->type;
      if (type.is(ValueKind::kClass)) return type.As<ClassPayload>()->name;
      return type.is(ValueKind::kBuiltin) ? type.string().substr(type.string().rfind('.') + 1) : "object";
    }
    case ValueKind::kConstexpr: return "constexpr";
    case ValueKind::kSpread: return "starred argument";
    case ValueKind::kDoubleSpread: return "double-starred argument";
    case ValueKind::kTensor:
      if (kernel != nullptr && value.tensor() < kernel->values.size()) return isa::ToString(kernel->TypeOf(value.tensor()));
      return "tensor";
    case ValueKind::kBlockPtr: return "block pointer";
    case ValueKind::kDescriptor: return "tensor descriptor";
    case ValueKind::kObject: return value.As<HostObject>()->type_name();
  }
  return "?";
}

namespace {

std::string FunctionName(const Value& value) {
  const auto* f = value.As<FunctionPayload>();
  if (f->module != nullptr && f->function < f->module->functions.size()) return f->module->functions[f->function].name;
  return "?";
}

std::string TorchDTypeName(isa::DType dtype) {
  switch (dtype) {
    case isa::DType::kI1: return "torch.bool";
    case isa::DType::kF8E4M3: return "torch.float8_e4m3fn";
    case isa::DType::kF8E5M2: return "torch.float8_e5m2";
    default: return absl::StrCat("torch.", isa::SurfaceName(dtype));
  }
}

// A structure can contain itself, and one that shares its parts can be much longer as text: deeper or longer than this is "...".
constexpr int kMaxReprDepth = 100;
constexpr size_t kMaxReprText = size_t{1} << 20;

void AppendRepr(const Value& value, int depth, std::string* out);

void AppendItems(absl::Span<const Value> items, int depth, std::string* out) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i != 0) *out += ", ";
    AppendRepr(items[i], depth, out);
  }
}

void AppendTuple(const ItemsPayload& tuple, int depth, std::string* out) {
  if (!tuple.field_names.empty()) {
    absl::StrAppend(out, tuple.class_name, "(");
    for (size_t i = 0; i < tuple.items.size(); ++i) {
      absl::StrAppend(out, i ? ", " : "", i < tuple.field_names.size() ? tuple.field_names[i] : "?", "=");
      AppendRepr(tuple.items[i], depth, out);
    }
    *out += ")";
    return;
  }
  const bool size = tuple.class_name == "torch.Size";
  *out += size ? "torch.Size([" : "(";
  AppendItems(tuple.items, depth, out);
  *out += size ? "])" : tuple.items.size() == 1 ? ",)" : ")";
}

void AppendInstance(const Value& value, int depth, std::string* out) {
  const auto* instance = value.As<InstancePayload>();
  absl::StrAppend(out, TypeName(value, nullptr), "(");
  if (!instance->attributes.empty() && instance->attributes[0].first == "args" && instance->attributes[0].second.is(ValueKind::kTuple)) {  // an exception
    AppendItems(instance->attributes[0].second.items(), depth, out);
    *out += ")";
    return;
  }
  bool first = true;
  for (const auto& [name, attribute] : instance->attributes) {
    absl::StrAppend(out, first ? "" : ", ", name, "=");
    AppendRepr(attribute, depth, out);
    first = false;
  }
  *out += ")";
}

void AppendRepr(const Value& value, int depth, std::string* out) {
  if (depth > kMaxReprDepth || out->size() > kMaxReprText) {
    *out += "...";
    return;
  }
  ++depth;
  switch (value.kind()) {
    case ValueKind::kAbsent: *out += "<absent>"; return;
    case ValueKind::kUnbound: absl::StrAppend(out, "<unbound ", value.As<UnboundPayload>()->name, ">"); return;
    case ValueKind::kNone: *out += "None"; return;
    case ValueKind::kEllipsis: *out += "Ellipsis"; return;
    case ValueKind::kBool: *out += value.bool_value() ? "True" : "False"; return;
    case ValueKind::kInt: *out += IntToString(value.int_value()); return;
    case ValueKind::kFloat: *out += FloatRepr(value.float_value()); return;
    case ValueKind::kString: *out += QuoteString(value.string()); return;
    case ValueKind::kDType: *out += value.is_torch_dtype() ? TorchDTypeName(value.dtype()) : std::string(isa::SurfaceName(value.dtype())); return;
    case ValueKind::kPointerType: absl::StrAppend(out, "pointer<", isa::SurfaceName(value.dtype()), ">"); return;
    case ValueKind::kBlockType: {
      const isa::Type& type = value.As<BlockTypePayload>()->type;
      std::string elem(isa::SurfaceName(type.elem.dtype));
      if (type.elem.pointer) elem = absl::StrCat("pointer<", elem, ">");
      absl::StrAppend(out, "<", isa::ShapeToString(type.shape), ", ", elem, ">");
      return;
    }
    case ValueKind::kTuple: return AppendTuple(*value.As<ItemsPayload>(), depth, out);
    case ValueKind::kList:
      *out += "[";
      AppendItems(value.items(), depth, out);
      *out += "]";
      return;
    case ValueKind::kSet: {
      const auto* set = value.As<SetPayload>();
      const std::string name = set->frozen ? "frozenset" : "set";
      if (set->items.empty()) {
        absl::StrAppend(out, name, "()");
        return;
      }
      *out += set->frozen ? "frozenset({" : "{";
      bool first = true;
      for (const auto& [item, nothing] : set->items) {
        if (!first) *out += ", ";
        AppendRepr(item, depth, out);
        first = false;
      }
      *out += set->frozen ? "})" : "}";
      return;
    }
    case ValueKind::kDict: {
      *out += "{";
      bool first = true;
      for (const auto& [key, item] : value.As<DictPayload>()->entries) {
        if (!first) *out += ", ";
        AppendRepr(key, depth, out);
        *out += ": ";
        AppendRepr(item, depth, out);
        first = false;
      }
      *out += "}";
      return;
    }
    case ValueKind::kRange: {
      const auto* range = value.As<RangePayload>();
      *out += "range(";
      AppendRepr(range->start, depth, out);
      *out += ", ";
      AppendRepr(range->stop, depth, out);
      if (!(range->step.is(ValueKind::kInt) && range->step.int_value() == 1)) {
        *out += ", ";
        AppendRepr(range->step, depth, out);
      }
      *out += ")";
      return;
    }
    case ValueKind::kSlice: {
      const auto* slice = value.As<SlicePayload>();
      *out += "slice(";
      AppendItems({slice->start, slice->stop, slice->step}, depth, out);
      *out += ")";
      return;
    }
    case ValueKind::kFunction: absl::StrAppend(out, "<function ", FunctionName(value), ">"); return;
    case ValueKind::kJitFunction: absl::StrAppend(out, "<JITFunction ", FunctionName(value.As<JitPayload>()->function), ">"); return;
    case ValueKind::kBoundMethod: absl::StrAppend(out, "<bound method ", value.As<BoundMethodPayload>()->name, ">"); return;
    case ValueKind::kBuiltin:
      if (absl::StartsWith(value.string(), "builtins.")) {
        absl::StrAppend(out, "<class '", value.string().substr(9), "'>");
      } else {
        absl::StrAppend(out, "<", value.string(), ">");
      }
      return;
    case ValueKind::kUnit: *out += "<module>"; return;
    case ValueKind::kClass: absl::StrAppend(out, "<class '", value.As<ClassPayload>()->name, "'>"); return;
    case ValueKind::kInstance: return AppendInstance(value, depth, out);
    case ValueKind::kConstexpr: case ValueKind::kSpread: case ValueKind::kDoubleSpread:
      *out += value.is(ValueKind::kConstexpr) ? "constexpr[" : value.is(ValueKind::kSpread) ? "*" : "**";
      AppendRepr(value.As<BoxPayload>()->inner, depth, out);
      if (value.is(ValueKind::kConstexpr)) *out += "]";
      return;
    case ValueKind::kTensor: *out += "<tensor>"; return;
    case ValueKind::kBlockPtr: *out += "<block pointer>"; return;
    case ValueKind::kDescriptor: *out += "<tensor descriptor>"; return;
    case ValueKind::kObject: *out += value.As<HostObject>()->Repr(); return;
  }
}

}  // namespace

std::string Repr(const Value& value) {
  std::string text;
  AppendRepr(value, 0, &text);
  return text;
}

std::string Str(const Value& value) {
  if (value.is(ValueKind::kString)) return value.string();
  if (value.is(ValueKind::kConstexpr)) return Str(value.As<BoxPayload>()->inner);
  if (value.is(ValueKind::kDType) && !value.is_torch_dtype()) {
    // Triton abbreviates: str(tl.float32) is "fp32".
    return TritonTypeName(value.dtype());
  }
  if (value.is(ValueKind::kInstance)) {
    // An exception is its arguments.
    if (value.As<InstancePayload>()->text != nullptr) return *value.As<InstancePayload>()->text;
    for (const auto& [name, attribute] : value.As<InstancePayload>()->attributes) {
      if (name != "args" || !attribute.is(ValueKind::kTuple)) continue;
      const auto& items = attribute.items();
      return items.empty() ? "" : items.size() == 1 ? Str(items[0]) : Repr(attribute);
    }
  }
  return Repr(value);
}

}  // namespace tilevm::specializer
