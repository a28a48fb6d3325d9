#include "vm/host/object.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "vm/host/device_runner.h"

namespace tilevm::vm::host {

using specializer::ValueKind;

const Value* Record::Find(absl::string_view name) const {
  for (const auto& [key, value] : attributes_) {
    if (key == name) return &value;
  }
  return nullptr;
}

absl::StatusOr<Value> Record::GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc) {
  if (const Value* value = Find(name)) return *value;
  if (name == "__dict__") {
    std::vector<std::pair<Value, Value>> entries;
    for (const auto& [key, value] : attributes_) entries.emplace_back(Value::String(key), value);
    return specializer::MakeDict(std::move(entries));
  }
  return HostObject::GetAttr(evaluator, name, loc);
}

absl::Status Record::SetAttr(Evaluator&, absl::string_view name, const Value& value, Loc) {
  for (auto& [key, old] : attributes_) {
    if (key == name) {
      old = value;
      return absl::OkStatus();
    }
  }
  attributes_.emplace_back(std::string(name), value);
  return absl::OkStatus();
}

absl::StatusOr<Value> Record::CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) {
  static constexpr absl::string_view kNothing[] = {"__exit__", "record", "synchronize", "wait_stream", "wait_event"};
  if (name == "__enter__") {
    return Value::None();
  }
  if (std::find(std::begin(kNothing), std::end(kNothing), name) != std::end(kNothing)) return Value::None();
  if (name == "elapsed_time") return Value::Float(0.0);
  return HostObject::CallMethod(evaluator, name, args, loc);
}

absl::StatusOr<Value> Record::Call(Evaluator& evaluator, const CallArgs& args, Loc loc) {
  if (type_ == "context" && args.positional.size() == 1 && args.keyword.empty()) return args.positional[0];
  return HostObject::Call(evaluator, args, loc);
}

absl::StatusOr<Value> Record::Index(Evaluator& evaluator, const Value& subscript, Loc loc) {
  if (!subscript.is(ValueKind::kString)) return HostObject::Index(evaluator, subscript, loc);
  if (const Value* value = Find(subscript.string())) return *value;
  return InvalidAt(loc, "KeyError: '", subscript.string(), "'");
}

absl::StatusOr<Value> Record::Binary(Evaluator& evaluator, isa::Op op, const Value& other, bool reflected, Loc loc) {
  if (op == isa::Op::kEq || op == isa::Op::kNe) {
    Record* record = AsRecord(other, type_);
    const bool equal = record != nullptr && record->repr_ == repr_;
    return Value::Bool(equal == (op == isa::Op::kEq));
  }
  return HostObject::Binary(evaluator, op, other, reflected, loc);
}

Record* AsRecord(const Value& value, absl::string_view type) {
  if (!value.is(ValueKind::kObject)) return nullptr;
  Record* record = dynamic_cast<Record*>(value.payload().get());
  return record != nullptr && record->type_name() == type ? record : nullptr;
}

Value MakeDevice(absl::string_view type, int index) {
  const std::string repr = index >= 0 ? absl::StrCat("device(type='", type, "', index=", index, ")") : absl::StrCat("device(type='", type, "')");
  return Record::Make("torch.device", repr, {{"type", Value::String(std::string(type))}, {"index", index >= 0 ? Value::Int(index) : Value::None()}});
}

// What the CPU engine answers for a device: the figures are those that kernels ask for to size themselves, chosen so that a persistent kernel
// runs a handful of programs and nothing is refused for lack of shared memory.
Value DevicePropertiesRecord(const DeviceFacts* facts) {
  static const DeviceFacts* const kCpu = [] {
    auto* cpu = new DeviceFacts();
    cpu->name = "tilevm CPU engine";
    cpu->major = 9;
    cpu->multiprocessors = 8;
    cpu->registers_per_multiprocessor = 65536;
    cpu->smem_per_block = 232448;
    cpu->smem_per_multiprocessor = 233472;
    cpu->memory_bytes = int64_t{16} << 30;
    cpu->l2_bytes = int64_t{50} << 20;
    return cpu;
  }();
  const DeviceFacts& f = facts != nullptr ? *facts : *kCpu;
  return Record::Make("torch.cuda._CudaDeviceProperties", absl::StrCat("_CudaDeviceProperties(name='", f.name, "')"),
                      {{"name", Value::String(f.name)},
                       {"major", Value::Int(f.major)},
                       {"minor", Value::Int(f.minor)},
                       {"multi_processor_count", Value::Int(f.multiprocessors)},
                       {"multiprocessor_count", Value::Int(f.multiprocessors)},
                       {"max_threads_per_multi_processor", Value::Int(2048)},
                       {"max_num_regs", Value::Int(f.registers_per_multiprocessor)},
                       {"regs_per_multiprocessor", Value::Int(f.registers_per_multiprocessor)},
                       {"max_shared_mem", Value::Int(f.smem_per_block)},
                       {"shared_memory_per_block", Value::Int(49152)},
                       {"shared_memory_per_block_optin", Value::Int(f.smem_per_block)},
                       {"shared_memory_per_multiprocessor", Value::Int(f.smem_per_multiprocessor)},
                       {"total_memory", Value::Int(f.memory_bytes)},
                       {"warp_size", Value::Int(32)},
                       {"warpSize", Value::Int(32)},
                       {"L2_cache_size", Value::Int(f.l2_bytes)},
                       {"mem_bus_width", Value::Int(64)},
                       {"mem_clock_rate", Value::Int(0)},
                       {"sm_clock_rate", Value::Int(f.clock_khz)}});
}

}  // namespace tilevm::vm::host
