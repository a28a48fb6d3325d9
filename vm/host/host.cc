#include "vm/host/host.h"

#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "vm/host/object.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {

using specializer::ValueKind;

HostWorld::HostWorld(KernelCache* cache, std::string program_key, Options options)
    : cache_(cache), program_key_(std::move(program_key)), options_(std::move(options)) {}
HostWorld::~HostWorld() = default;

HostWorld& World(Evaluator& evaluator) { return *static_cast<HostWorld*>(evaluator.host()); }

void HostWorld::Print(absl::string_view line) {
  if (options_.print) {
    options_.print(line);
    return;
  }
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

// A host that takes the lines of print() has not asked for these.
void HostWorld::PrintError(absl::string_view text) {
  if (!options_.print) std::fwrite(text.data(), 1, text.size(), stderr);
}

void HostWorld::Record(LaunchRecord record) {
  ++launch_count_;
  if (record.on_device) device_us_ += record.run_us;
  if (launches_.size() < options_.max_launch_records) launches_.push_back(std::move(record));
}

absl::Status HostWorld::CheckDevice(const Value& device, Loc loc) const {
  if (device.absent_or_none() || device.is(ValueKind::kInt) || AsRecord(device, "torch.device") != nullptr) return absl::OkStatus();
  if (device.is(ValueKind::kString)) {
    const std::string& name = device.string();
    const absl::string_view type = absl::string_view(name).substr(0, name.find(':'));
    if (type == "cuda" || type == "cpu") return absl::OkStatus();
    return InvalidAt(loc, "device '", name, "' is unknown; 'cuda' and 'cpu' name the engine that runs the program");
  }
  return InvalidAt(loc, "a device is wanted, not ", specializer::TypeName(device, nullptr));
}

bool NamesCpu(const Value& device) {
  if (device.is(ValueKind::kString)) return absl::StartsWith(device.string(), "cpu");
  const Record* record = AsRecord(device, "torch.device");
  return record != nullptr && record->Find("type")->string() == "cpu";
}

absl::StatusOr<Value> HostWorld::CallBuiltin(Evaluator& evaluator, absl::string_view path, const CallArgs& args, Loc loc) {
  absl::string_view rest = path;
  if (absl::ConsumePrefix(&rest, "torch.")) {
    if (const HostOp* op = FindTorchFunction(rest)) return CallHostOp(evaluator, *op, path, Value(), args, loc);
    // torch.Tensor.add(x, y): the method as a function.
    absl::string_view method = rest;
    if (absl::ConsumePrefix(&method, "Tensor.")) {
      if (const HostOp* op = FindTensorMethod(method)) return CallHostOp(evaluator, *op, path, Value(), args, loc);
    }
    return UnimplementedAt(loc, "'", path, "' is not a torch function that tilevm has (docs/host.md lists them)");
  }
  TILEVM_ASSIGN_OR_RETURN(std::optional<Value> value, CallTriton(evaluator, path, args, loc));
  if (value.has_value()) return *value;
  return UnimplementedAt(loc, "'", path, "' is not available here: only torch, triton and a few modules of Python are known");
}

absl::StatusOr<Value> HostWorld::BuiltinValue(Evaluator& evaluator, absl::string_view path, Loc loc) {
  absl::string_view rest = path;
  if (path == "torch") return Value::Builtin("torch");
  if (absl::ConsumePrefix(&rest, "torch.")) {
    if (std::optional<Value> constant = TorchConstant(rest)) return *constant;
    if (FindTorchFunction(rest) != nullptr || IsTorchNamespace(rest)) return Value::Builtin(std::string(path));
    absl::string_view method = rest;
    if (absl::ConsumePrefix(&method, "Tensor.") && FindTensorMethod(method) != nullptr) return Value::Builtin(std::string(path));
    return UnimplementedAt(loc, "'", path, "' is not a part of torch that tilevm has (docs/host.md lists them)");
  }
  TILEVM_ASSIGN_OR_RETURN(std::optional<Value> value, TritonValue(evaluator, path, loc));
  if (value.has_value()) return *value;
  return UnimplementedAt(loc, "'", path, "' is not available here: only torch, triton and a few modules of Python are known");
}

const Value& HostWorld::environment() {
  if (environment_.absent()) environment_ = specializer::MakeDict({});
  return environment_;
}

specializer::OutsideName HostWorld::LookUpName(absl::string_view path) {
  return absl::ConsumePrefix(&path, "torch.") ? LookUpTorchName(path) : specializer::OutsideName{};
}

}  // namespace tilevm::vm::host
