// Module-level names: a unit's cells run on demand (or in order, as __main__), its imports, Python's builtins.
//
// A cell is entered at most once. A name asked for while nothing runs as __main__ runs every cell that may define it, in source order; a cell that
// failed gives its error again whenever a name of it is asked for.
#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

namespace {

// What a kernel sees of Python's builtins (docs/semantics.md). bool and str serve as the second argument of isinstance.
bool VisibleInKernels(absl::string_view name) {
  for (absl::string_view visible :
       {"float", "int", "len", "list", "range", "min", "max", "print", "isinstance", "getattr", "hasattr", "tuple", "bool", "str"}) {
    if (name == visible) return true;
  }
  return false;
}

// May a kernel read this global? Triton: functions, modules, dtypes, classes, constexpr objects; never a plain number.
bool UsableInKernel(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kBool: case ValueKind::kInt: case ValueKind::kFloat: case ValueKind::kString: case ValueKind::kTuple: case ValueKind::kList:
    case ValueKind::kDict: case ValueKind::kSet: case ValueKind::kNone: return false;
    default: return true;
  }
}

bool ChangesInPlace(absl::string_view method) {
  for (absl::string_view name : {"append", "extend", "insert", "update", "setdefault", "pop", "remove", "sort", "reverse", "clear", "add", "discard"}) {
    if (method == name) return true;
  }
  return false;
}

bool IsNamedTuple(const Value& value) { return value.is(ValueKind::kTuple) && !value.As<ItemsPayload>()->field_names.empty(); }

}  // namespace

Evaluator::Impl::Impl(Evaluator* self, const isa::Module* module, Host* host, Limits limits)
    : self_(self),
      module_(module),
      host_(host != nullptr ? host : &default_host_),
      limits_(limits),
      meter_(new MemoryMeter(limits.max_tensor_bytes != 0 ? limits.max_tensor_bytes : DefaultTensorBytes())) {
  units_.resize(std::max<size_t>(module->units.size(), 1));
  for (size_t u = 0; u < module->units.size(); ++u) {
    const isa::Unit& unit = module->units[u];
    units_[u].cells.resize(unit.cells.size());
    for (size_t c = 0; c < unit.cells.size(); ++c) {
      for (isa::StringId name : unit.cells[c].defines) units_[u].definers[String(name)].push_back(static_cast<uint32_t>(c));
    }
    for (size_t c = 0; c < unit.cells.size(); ++c) {
      absl::flat_hash_map<isa::Reg, isa::StringId> globals;
      NoteMutations(static_cast<uint32_t>(u), static_cast<uint32_t>(c), module->functions[unit.cells[c].function].body, globals);
    }
    for (const isa::Import& import : unit.imports) {
      if (String(import.name) == "*") {
        units_[u].stars.push_back(String(import.path));
      } else {
        units_[u].imports[String(import.name)] = String(import.path);
      }
    }
  }
}

void Evaluator::Impl::NoteMutations(uint32_t unit, uint32_t cell, const isa::Region& region, absl::flat_hash_map<isa::Reg, isa::StringId>& globals) {
  for (const isa::Inst& inst : region.body) {
    if (inst.op == isa::Op::kGlobal && !inst.results.empty()) globals[inst.results[0]] = inst.imm;
    const bool method = inst.op == isa::Op::kCallMethod && ChangesInPlace(String(inst.imm));
    if ((method || inst.op == isa::Op::kSetItem || inst.op == isa::Op::kDelItem || inst.op == isa::Op::kSetAttr) && !inst.operands.empty()) {
      auto global = globals.find(inst.operands[0]);
      if (global != globals.end()) {
        // Only a name that an earlier statement defines; a cell stands in the list once, in source order.
        auto definers = units_[unit].definers.find(String(global->second));
        if (definers != units_[unit].definers.end() && definers->second.front() < cell) {
          std::vector<uint32_t>& cells = definers->second;
          const auto at = std::lower_bound(cells.begin(), cells.end(), cell);
          if (at == cells.end() || *at != cell) cells.insert(at, cell);
        }
      }
    }
    for (const isa::Region& inner : inst.regions) NoteMutations(unit, cell, inner, globals);
  }
}

absl::Status Evaluator::Impl::RunCell(uint32_t unit, uint32_t index) {
  CellState& state = units_[unit].cells[index];
  if (state.phase == CellState::Phase::kFailed) return state.error;
  if (state.phase != CellState::Phase::kFresh) return absl::OkStatus();
  state.phase = CellState::Phase::kRunning;
  const int outer_cell = std::exchange(units_[unit].running_cell, static_cast<int>(index));
  FunctionPayload function;
  function.module = module_;
  function.function = module_->units[unit].cells[index].function;
  // A cell never runs inside the kernel that asked for its name.
  absl::Status status = RunFunction(function, {}, false, {}).status();
  units_[unit].running_cell = outer_cell;
  CellState& after = units_[unit].cells[index];
  after.phase = status.ok() ? CellState::Phase::kDone : CellState::Phase::kFailed;
  after.error = status;
  return status;
}

absl::Status Evaluator::Impl::RunMain() {
  running_main_ = true;
  units_[0].globals["__name__"] = Value::String("__main__");
  absl::Status status;
  for (size_t c = 0; !module_->units.empty() && c < module_->units[0].cells.size() && status.ok(); ++c) status = RunCell(0, static_cast<uint32_t>(c));
  running_main_ = false;
  const auto exit_code = status.GetPayload(kExitPayload);
  return exit_code.has_value() && *exit_code == "0" ? absl::OkStatus() : status;
}

absl::Status Evaluator::Impl::SetGlobal(uint32_t unit, absl::string_view name, Value value) {
  units_[unit].globals.insert_or_assign(std::string(name), std::move(value));  // unbound: `del name`
  return absl::OkStatus();
}

std::vector<std::string> Evaluator::Impl::UnitNames(uint32_t unit) const {
  std::vector<std::string> names;
  if (unit >= module_->units.size()) return names;
  for (const isa::Cell& cell : module_->units[unit].cells) {
    for (isa::StringId name : cell.defines) names.push_back(String(name));
  }
  return names;
}

absl::StatusOr<Value> Evaluator::Impl::ImportedValue(const std::string& path, Loc loc) {
  absl::string_view rest = path;
  if (absl::ConsumePrefix(&rest, "unit:")) {
    const size_t dot = rest.find('.');
    int index = -1;
    if (!absl::SimpleAtoi(rest.substr(0, dot), &index) || index < 0 || static_cast<size_t>(index) >= module_->units.size()) {
      return ErrorAt(loc, absl::StatusCode::kInternal, "an import names ", path, ", which the module does not have");
    }
    if (dot != absl::string_view::npos) {
      // Files that import a name from each other, none of which defines it, would ask one another for ever.
      constexpr int kMaxImportChain = 200;
      if (import_chain_ >= kMaxImportChain) {
        return InvalidAt(loc, "ImportError: cannot import name '", rest.substr(dot + 1), "' from '", module_->units[index].name, "' (circular import)");
      }
      ++import_chain_;
      const absl::Cleanup leave = [this] { --import_chain_; };
      absl::StatusOr<Value> value = UnitGlobal(static_cast<uint32_t>(index), rest.substr(dot + 1), loc);
      if (!value.ok() && absl::IsNotFound(value.status())) {
        return InvalidAt(loc, "ImportError: cannot import name '", rest.substr(dot + 1), "' from '", module_->units[index].name, "'");
      }
      return value;
    }
    return Boxed(ValueKind::kUnit, Value::Int(index));
  }
  const std::string normal = NormalizePath(path);
  if (std::optional<Value> known = FindBuiltinValue(normal)) return *known;
  if (FindBuiltin(normal) == nullptr && !absl::StartsWith(normal, "triton.language") && !IsExceptionName(normal)) {
    // torch.float16, sys.argv: a value the host has. What it does not know stays a name, and is an error when it is used.
    absl::StatusOr<Value> value = host_->BuiltinValue(*self_, normal, loc);
    if (value.ok()) return value;
    const size_t dot = normal.rfind('.');  // torch.float32.itemsize, os.environ.items: a value knows all of its attributes
    const absl::StatusOr<Value> owner = dot == std::string::npos ? value : host_->BuiltinValue(*self_, normal.substr(0, dot), loc);
    if (owner.ok() && !owner->is(ValueKind::kBuiltin)) return GetAttr(*owner, normal.substr(dot + 1), false, loc);
    TILEVM_RETURN_IF_ERROR(CheckSpelling(normal, loc));
  } else if (absl::StartsWith(normal, "triton.language.")) {
    TILEVM_RETURN_IF_ERROR(CheckSpelling(normal, loc));
  }
  return Value::Builtin(normal);
}

// What `from path import *` gives, the last one first; nullopt if none has the name.
std::optional<absl::StatusOr<Value>> Evaluator::Impl::StarValue(uint32_t unit, absl::string_view name, Loc loc) {
  if (absl::StartsWith(name, "_") || unit >= units_.size()) return std::nullopt;
  const std::vector<std::string>& stars = units_[unit].stars;
  for (size_t i = stars.size(); i-- > 0;) {
    const std::string path = absl::StrCat(stars[i], ".", name);
    absl::string_view rest = path;
    if (!absl::ConsumePrefix(&rest, "unit:")) {
      if (Exists(path, loc)) return ImportedValue(path, loc);
      continue;
    }
    uint32_t other = 0;
    constexpr int kMaxStars = 50;  // files that take all of each other go round
    if (!absl::SimpleAtoi(rest.substr(0, rest.find('.')), &other) || other >= units_.size() || import_chain_ >= kMaxStars) continue;
    ++import_chain_;
    const absl::Cleanup leave = [this] { --import_chain_; };
    absl::StatusOr<Value> value = UnitGlobal(other, name, loc);
    if (value.ok() || !absl::IsNotFound(value.status())) return value;
  }
  return std::nullopt;
}

absl::StatusOr<Value> Evaluator::Impl::UnitGlobal(uint32_t unit, absl::string_view name, Loc loc) {
  UnitState& state = units_[unit];
  auto found = state.globals.find(std::string(name));
  if (found != state.globals.end() && ((running_main_ && unit == 0) || !state.definers.contains(name))) return found->second;
  auto definers = state.definers.find(std::string(name));
  if (definers != state.definers.end() && !(running_main_ && unit == 0)) {
    // A statement sees what the ones before it made of the name (`f = jit(f)` reads the function, not itself); only a name that is first
    // defined later is taken from there.
    std::vector<uint32_t> cells = definers->second;
    const int running = state.running_cell;
    if (running >= 0 && static_cast<int>(cells.front()) < running) {
      cells.erase(std::remove_if(cells.begin(), cells.end(), [&](uint32_t cell) { return static_cast<int>(cell) >= running; }), cells.end());
    }
    for (uint32_t cell : cells) TILEVM_RETURN_IF_ERROR(RunCell(unit, cell));
  }
  found = units_[unit].globals.find(std::string(name));
  if (found != units_[unit].globals.end()) return found->second;
  auto import = units_[unit].imports.find(std::string(name));
  if (import != units_[unit].imports.end()) return ImportedValue(import->second, loc);
  if (name == "__name__" && unit < module_->units.size()) {
    // Names asked for one by one are an import of the file, not its run.
    const std::string& own = module_->units[unit].name;
    return Value::String(unit == 0 && own == "__main__" ? "__imported__" : own);
  }
  if (name == "__file__" && unit < module_->units.size() && module_->units[unit].file < module_->files.size()) {
    return Value::String(module_->files[module_->units[unit].file].name);
  }
  // Functions of assembly and builder programs have no cell: they are found by their own name.
  const bool no_cells = unit >= module_->units.size() || module_->units[unit].cells.empty();
  for (size_t i = module_->functions.size(); i-- > 0;) {
    const isa::Function& function = module_->functions[i];
    if (function.name != name || function.unit != unit || function.kind == isa::FunctionKind::kCell || !function.captures.empty()) continue;
    if (function.kind != isa::FunctionKind::kKernel && !no_cells) continue;
    auto payload = std::make_shared<FunctionPayload>();
    payload->module = module_;
    payload->function = static_cast<uint32_t>(i);
    return Value::Shared(ValueKind::kFunction, std::move(payload));
  }
  if (std::optional<absl::StatusOr<Value>> star = StarValue(unit, name, loc)) return *std::move(star);
  return ErrorAt(loc, absl::StatusCode::kNotFound, "name '", name, "' is not defined");
}

absl::StatusOr<Value> Evaluator::Impl::KernelGlobal(const Value& value, absl::string_view name, Loc loc) const {
  if (NestsDeeper(value, kMaxKernelNesting)) {
    return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "the global '", name, "' nests tuples more than ", kMaxKernelNesting,
                   " deep, which a kernel cannot read");
  }
  if (value.is(ValueKind::kConstexpr)) return value.As<BoxPayload>()->inner;
  if (UsableInKernel(value) || IsNamedTuple(value)) return value;
  name = name.substr(name.rfind('.') == absl::string_view::npos ? 0 : name.rfind('.') + 1);
  return InvalidAt(loc, "NameError: a kernel cannot read the global '", name, "', a plain ", NameOfType(value), "; define it as ", name,
                   " = tl.constexpr(...)");
}

absl::StatusOr<Value> Evaluator::Impl::LookUpName(uint32_t unit, absl::string_view name, bool kernel, Loc loc) {
  absl::StatusOr<Value> value = UnitGlobal(unit, name, loc);
  if (value.ok() && value->is(ValueKind::kUnbound)) value = ErrorAt(loc, absl::StatusCode::kNotFound, "name '", name, "' is not defined");
  if (value.ok()) {
    return kernel ? KernelGlobal(*value, name, loc) : value;
  }
  if (!absl::IsNotFound(value.status())) return value;
  if (name == "Ellipsis") return Value::Ellipsis();
  if (IsPythonBuiltin(name)) {
    if (kernel && !VisibleInKernels(name) && !IsExceptionName(absl::StrCat("builtins.", name))) {
      return InvalidAt(loc, "NameError: Python's ", name, " is not available in a kernel",
                       name == "abs" ? "; use tl.abs" : name == "sum" ? "; use tl.sum" : name == "bool" ? "; use .to(tl.int1)" : "");
    }
    return Value::Builtin(absl::StrCat("builtins.", name));
  }
  return InvalidAt(loc, "NameError: name '", name, "' is not defined");
}

}  // namespace tilevm::specializer
