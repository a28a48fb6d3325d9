// What exists outside the source: which dotted names mean something, imports that may fail, and what a kernel's text takes from module level.
//
// A name that nothing knows stays a name until it is used (files import much that a kernel never needs). Where a program asks (`hasattr`, `getattr`,
// an `import` inside `try`, a condition), CheckKnown answers.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"
#include "specializer/partial_eval/python_format.h"

namespace tilevm::specializer {

using isa::Op;

namespace {

// Modules of Python itself: importing one works, whether or not its functions are known here.
constexpr absl::string_view kStandardModules[] = {
    "__future__", "abc",         "argparse",   "array",     "ast",         "asyncio",    "atexit",     "base64",      "bisect",    "builtins",
    "bz2",        "cProfile",    "calendar",   "cmath",     "collections", "concurrent", "contextlib", "contextvars", "copy",      "csv",
    "ctypes",     "dataclasses", "datetime",   "decimal",   "difflib",     "enum",       "errno",      "fcntl",       "fnmatch",   "fractions",
    "functools",  "gc",          "getpass",    "glob",      "gzip",        "hashlib",    "heapq",      "html",        "importlib", "inspect",
    "io",         "itertools",   "json",       "keyword",   "linecache",   "locale",     "logging",    "lzma",        "math",      "multiprocessing",
    "numbers",    "operator",    "os",         "pathlib",   "pickle",      "pkgutil",    "platform",   "posixpath",   "pprint",    "queue",
    "random",     "re",          "resource",   "sched",     "select",      "shlex",      "shutil",     "signal",      "site",      "socket",
    "sqlite3",    "stat",        "statistics", "string",    "struct",      "subprocess", "sys",        "sysconfig",   "tempfile",  "textwrap",
    "threading",  "time",        "timeit",     "traceback", "types",       "typing",     "unittest",   "urllib",      "uuid",      "warnings",
    "weakref",    "xml",         "zipfile",    "zlib",
};

// Classes and namespaces of Triton that have no function of their own here.
constexpr absl::string_view kTritonNames[] = {
    "triton.language.tensor",
    "triton.language.dtype",
    "triton.language.tensor_descriptor",
    "triton.language.tensor_descriptor_base",
    "triton.language.core",
    "triton.language.math",
    "triton.language.standard",
    "triton.language.random",
    "triton.language.semantic",
    "triton.language.PropagateNan",
    "triton.JITFunction",
    "triton.KernelInterface",
    "triton.runtime.JITFunction",
    "triton.runtime.jit.JITFunction",
    "triton.runtime.Autotuner",
    "triton.runtime.autotuner.Autotuner",
    "triton.compiler",
    "triton.compiler.CompiledKernel",
    "libdevice",
};

// What typing and collections.abc have, for `from typing import *`.
constexpr absl::string_view kHints[] = {
    "AbstractSet", "Annotated", "Any", "AnyStr", "AsyncIterator", "Awaitable", "BinaryIO", "ByteString", "Callable", "ChainMap", "ClassVar", "Collection",
    "Concatenate", "Container", "Coroutine", "Counter", "DefaultDict", "Deque", "Dict", "Final", "ForwardRef", "FrozenSet", "Generator", "Generic", "Hashable",
    "IO", "ItemsView", "Iterable", "Iterator", "KeysView", "List", "Literal", "LiteralString", "Mapping", "MappingView", "MutableMapping", "MutableSequence",
    "MutableSet", "Never", "NoReturn", "NotRequired", "Optional", "OrderedDict", "ParamSpec", "Protocol", "Required", "Reversible", "Self", "Sequence", "Set",
    "Sized", "SupportsFloat", "SupportsIndex", "SupportsInt", "Text", "TextIO", "Tuple", "Type", "TypeAlias", "TypeGuard", "TypedDict", "Union", "ValuesView",
};

absl::string_view RootOf(absl::string_view path) { return path.substr(0, path.find('.')); }

bool IsStandardModule(absl::string_view root) {
  return std::find(std::begin(kStandardModules), std::end(kStandardModules), root) != std::end(kStandardModules);
}

// "triton.runtime" is a namespace because "triton.runtime.jit" is a function.
bool IsNamespace(absl::string_view path) {
  for (absl::Span<const BuiltinRow> rows : AllBuiltins()) {
    for (const BuiltinRow& row : rows) {
      if (row.path.size() > path.size() && row.path[path.size()] == '.' && absl::StartsWith(row.path, path)) return true;
    }
  }
  return false;
}

// What a function's text reads by `global` or through a sibling file, its nested functions included.
void CollectGlobals(const isa::Module& module, const isa::Function& function, const isa::Region& region, absl::flat_hash_set<std::string>& names) {
  for (const isa::Inst& inst : region.body) {
    if (inst.op == Op::kGlobal) names.insert(absl::StrCat("unit:", function.unit, ".", module.strings[inst.imm]));
    if (inst.op == Op::kConst && module.constants[inst.imm].kind == isa::Constant::Kind::kBuiltin &&
        absl::StartsWith(module.constants[inst.imm].string_value, "unit:")) {
      names.insert(module.constants[inst.imm].string_value);
    }
    if (inst.op == Op::kMakeFunction) CollectGlobals(module, function, module.functions[inst.imm].body, names);
    for (const isa::Region& inner : inst.regions) CollectGlobals(module, function, inner, names);
  }
}

}  // namespace

bool Evaluator::Impl::Exists(const std::string& path, Loc loc) {
  if (type_names_.contains(path) || IsTypeFunction(path)) return true;
  if (FindBuiltin(path) != nullptr || FindBuiltinValue(path).has_value() || IsExceptionName(path) || IsNamespace(path)) return true;
  absl::string_view name = path;
  if (absl::StartsWith(name, "typing.") || absl::StartsWith(name, "collections.abc.")) {
    const absl::string_view hint = name.substr(name.rfind('.') + 1);
    if (std::find(std::begin(kHints), std::end(kHints), hint) != std::end(kHints)) return true;
  }
  if (std::find(std::begin(kTritonNames), std::end(kTritonNames), name) != std::end(kTritonNames)) return true;
  if (absl::StartsWith(name, "libdevice.") && isa::OpFromSurface(name).has_value()) return true;
  constexpr absl::string_view kLanguage = "triton.language.";
  if (absl::StartsWith(name, kLanguage) && isa::OpFromSurface(name.substr(kLanguage.size())).has_value()) return true;
  return host_->BuiltinValue(*self_, path, loc).ok();
}

absl::Status Evaluator::Impl::CheckKnown(const std::string& path, Loc loc) {
  if (absl::StartsWith(path, "unit:") || Exists(path, loc)) return absl::OkStatus();
  const absl::string_view root = RootOf(path);
  // Of Python's own modules only a part is known here; what is asked for is taken to be there.
  if (IsStandardModule(root)) return absl::OkStatus();
  const size_t dot = path.rfind('.');
  if (root.empty()) return InvalidAt(loc, "ImportError: no file of this program is '", path, "'");
  if (dot == std::string::npos || (root != "torch" && root != "triton" && root != "libdevice")) {
    if (!host_->BuiltinValue(*self_, std::string(root), loc).ok() && !IsNamespace(root))
      return InvalidAt(loc, "ModuleNotFoundError: No module named '", root, "'");
  }
  return InvalidAt(loc, "AttributeError: module '", path.substr(0, dot), "' has no attribute '", path.substr(dot + 1), "' (docs/host.md lists what is there)");
}

absl::Status Evaluator::Impl::CheckSpelling(const std::string& path, Loc loc) {
  const bool triton = absl::StartsWith(path, "triton.");
  if ((!triton && !absl::StartsWith(path, "torch.")) || Exists(path, loc)) return absl::OkStatus();
  const OutsideName name = triton ? LookUpTritonName(path) : host_->LookUpName(path);
  if (name.there) return absl::OkStatus();
  const size_t dot = name.missing.rfind('.');
  const std::string space = dot == std::string::npos ? std::string(RootOf(path)) : name.missing.substr(0, dot);
  const absl::Status status = InvalidAt(loc, "AttributeError: module '", absl::StartsWith(space, RootOf(path)) ? "" : absl::StrCat(RootOf(path), "."), space,
                                        "' has no attribute '", name.missing.substr(dot + 1), "'");
  return name.nearest.empty() ? status : WithNote(status, loc, absl::StrCat("did you mean '", name.nearest, "'?"));
}

bool Evaluator::Impl::IsListed(const Value& value) const {
  return value.is(ValueKind::kBuiltin) && absl::StartsWith(value.string(), "torch.") && host_->LookUpName(value.string()).listed;
}

absl::Status Evaluator::Impl::CheckMeaning(const Value& value, Loc loc) {
  if (!value.is(ValueKind::kBuiltin) || !absl::StrContains(value.string(), ".") || Exists(value.string(), loc)) return absl::OkStatus();
  const absl::string_view root = RootOf(value.string());
  if (root != "torch" && root != "triton" && root != "libdevice") TILEVM_RETURN_IF_ERROR(CheckKnown(value.string(), loc));
  if (root == "torch" && host_->LookUpName(value.string()).dtype) return absl::OkStatus();
  return UnimplementedAt(loc, "'", value.string(), "' is not here (docs/host.md lists what is): the name can be passed on, not compared, tested or printed");
}

// tilevm.imported(path): the value of an import inside `try`, where a module that is not there is an ImportError. Bytecode of
// older releases gives the value.
absl::StatusOr<Value> ImportedBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "import", 1, 1, loc));
  Value value = args.positional[0];
  if (value.is(ValueKind::kString)) {
    absl::StatusOr<Value> of = impl.ImportedValue(value.string(), loc);
    if (of.ok()) value = *std::move(of);
    if (!of.ok() && !absl::StartsWith(of.status().message(), "AttributeError: module")) return of;
    if (!of.ok()) value = Value::Builtin(NormalizePath(value.string()));
  }
  if (!value.is(ValueKind::kBuiltin)) return value;
  const absl::Status known = impl.CheckKnown(value.string(), loc);
  if (known.ok()) return value;
  if (!absl::StartsWith(known.message(), "AttributeError")) return known;
  const size_t dot = value.string().rfind('.');
  return InvalidAt(loc, "ImportError: cannot import name '", value.string().substr(dot + 1), "' from '", value.string().substr(0, dot), "'");
}

namespace {

// A local that a function shares with its nested functions.
struct CellObject : HostObject {
  std::string name;
  Value value;
  bool in_kernel = false;  // an error where it is used, if that is ever reached
  std::string type_name() const override { return "cell"; }
  absl::Status NotInKernels(Loc loc) const {
    return UnimplementedAt(loc, "'", name, "' is shared with a nested function, or assigned inside `try` or `with`, which is not supported in a kernel");
  }
  absl::StatusOr<Value> GetAttr(Evaluator&, absl::string_view, Loc loc) override {
    if (in_kernel) return NotInKernels(loc);
    if (value.absent() || value.is(ValueKind::kUnbound)) return InvalidAt(loc, "NameError: name '", name, "' is not defined here");
    return value;
  }
  // An absent value: `del name`.
  absl::Status SetAttr(Evaluator&, absl::string_view, const Value& given, Loc loc) override {
    if (in_kernel) return NotInKernels(loc);
    if (given.absent() && (value.absent() || value.is(ValueKind::kUnbound))) return InvalidAt(loc, "NameError: name '", name, "' is not defined here");
    value = given;
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<Value> CellBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "cell", 1, 1, loc));
  auto cell = std::make_shared<CellObject>();
  cell->name = args.positional[0].string();
  cell->in_kernel = impl.builtin_in_kernel();
  return Value::Shared(ValueKind::kObject, std::move(cell));
}

absl::StatusOr<Value> FindSpecBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "find_spec", 1, 2, loc, {"name", "package"}));
  const Value name = Argument(args, 0, "name");
  if (!name.is(ValueKind::kString)) return InvalidAt(loc, "TypeError: find_spec: a str is wanted, not ", impl.NameOfType(name));
  return impl.CheckKnown(name.string(), loc).ok() ? Value::Builtin(name.string()) : Value::None();
}

// sys.exit(code): a SystemExit on its way to the top.
absl::StatusOr<Value> ExitBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "exit", 0, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(Value exception, impl.Instantiate(Value::Builtin("builtins.SystemExit"), args, loc));
  return impl.RaiseValue(exception, loc);
}

std::string Evaluator::Impl::GlobalsKey(const Value& kernel) {
  std::string text;
  std::vector<Value> work = {kernel};
  absl::flat_hash_set<uint32_t> seen;
  while (!work.empty()) {
    const Value value = std::move(work.back());
    work.pop_back();
    absl::StatusOr<const FunctionPayload*> function = UnderlyingFunction(value, {});
    if (!function.ok() || (*function)->module != module_ || !seen.insert((*function)->function).second) continue;
    for (const Value& capture : (*function)->captures) {
      if (capture.is(ValueKind::kFunction) || capture.is(ValueKind::kJitFunction)) work.push_back(capture);
    }
    const std::vector<std::string>* names = nullptr;  // a name may run cells, which may come back here: a std::map keeps its place
    if (auto found = kernel_globals_.find((*function)->function); found != kernel_globals_.end()) {
      names = &found->second;
    } else {
      absl::flat_hash_set<std::string> set;
      const isa::Function& definition = module_->functions[(*function)->function];
      CollectGlobals(*module_, definition, definition.body, set);
      std::vector<std::string> sorted(set.begin(), set.end());
      std::sort(sorted.begin(), sorted.end());
      names = &kernel_globals_.emplace((*function)->function, std::move(sorted)).first->second;
    }
    for (const std::string& name : *names) {
      absl::StatusOr<Value> global = ImportedValue(name, {});
      if (!global.ok()) continue;  // said where it is used, if it is
      if (global->is(ValueKind::kConstexpr) || (global->is(ValueKind::kTuple) && !global->As<ItemsPayload>()->field_names.empty())) {
        const Value& inner = Unboxed(*global);
        absl::StrAppend(&text, "|", name, "=", Repr(*global),
                        inner.is(ValueKind::kTuple) || inner.is(ValueKind::kList) ? absl::StrCat("#", inner.items().size()) : "");
        if (inner.is(ValueKind::kFunction)) work.push_back(inner);
      } else if (global->is(ValueKind::kFunction) || global->is(ValueKind::kJitFunction)) {
        absl::StatusOr<const FunctionPayload*> helper = UnderlyingFunction(*global, {});
        if (!helper.ok()) continue;
        absl::StrAppend(&text, "|", name, "=", (*helper)->function);
        for (const Value& capture : (*helper)->captures) absl::StrAppend(&text, ",", Repr(capture));
        work.push_back(*global);
      }
    }
  }
  return text;
}

}  // namespace tilevm::specializer
