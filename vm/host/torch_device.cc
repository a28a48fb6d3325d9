// torch.device, torch.cuda.*, dtypes and their limits, contexts. There is one device, the engine that runs the program.
#include <cmath>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "isa/eval.h"
#include "vm/host/convert.h"
#include "vm/host/device_runner.h"
#include "vm/host/host.h"
#include "vm/host/object.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

absl::StatusOr<Value> Device(HostCall& call) {
  TILEVM_RETURN_IF_ERROR(call.world.CheckDevice(call.args[0], call.loc));
  if (AsRecord(call.args[0], "torch.device") != nullptr) return call.args[0];
  std::string type = "cuda";
  int index = -1;
  if (call.args[0].is(ValueKind::kString)) {
    const std::vector<std::string> parts = absl::StrSplit(call.args[0].string(), ':');
    type = parts[0];
    if (parts.size() > 1 && !absl::SimpleAtoi(parts[1], &index)) return call.Error("invalid device '", call.args[0].string(), "'");
  } else if (call.args[0].is(ValueKind::kInt)) {
    index = static_cast<int>(call.args[0].int_value());
  }
  if (call.given_not_none(1)) {
    TILEVM_ASSIGN_OR_RETURN(int64_t given, call.IntArg(1));
    index = static_cast<int>(given);
  }
  return MakeDevice(type, index);
}

absl::StatusOr<Value> Nothing(HostCall&) { return Value::None(); }
absl::StatusOr<Value> True(HostCall&) { return Value::Bool(true); }
absl::StatusOr<Value> False(HostCall&) { return Value::Bool(false); }
absl::StatusOr<Value> Number(HostCall& call) { return Value::Int(call.tag); }
const DeviceFacts* Facts(HostCall& call) { return call.world.options().device == nullptr ? nullptr : &call.world.options().device->facts(); }
absl::StatusOr<Value> Properties(HostCall& call) { return DevicePropertiesRecord(Facts(call)); }
absl::StatusOr<Value> DeviceName(HostCall& call) { return Value::String(Facts(call) == nullptr ? "tilevm CPU engine" : Facts(call)->name); }
absl::StatusOr<Value> Capability(HostCall& call) {
  const DeviceFacts* facts = Facts(call);
  return Value::Tuple({Value::Int(facts == nullptr ? 9 : facts->major), Value::Int(facts == nullptr ? 0 : facts->minor)});
}
absl::StatusOr<Value> Context(HostCall& call) {
  // torch.no_grad used as a plain decorator.
  if (!call.args.empty() && call.args[0].is(ValueKind::kTuple) && call.args[0].items().size() == 1) {
    const Value& f = call.args[0].items()[0];
    if (f.is(ValueKind::kFunction) || f.is(ValueKind::kJitFunction)) return f;
  }
  return Record::Make("context", "<context>", {});
}
absl::StatusOr<Value> Decorator(HostCall& call) {  // torch.compile(f), torch.jit.script(f), @torch.compile(...)
  if (call.args[0].is(ValueKind::kTuple) && !call.args[0].items().empty()) return call.args[0].items()[0];
  return Record::Make("context", "<context>", {});
}
absl::StatusOr<Value> Stream(HostCall&) {
  return Record::Make("torch.cuda.Stream", "<torch.cuda.Stream>", {{"cuda_stream", Value::Int(0)}});
}
absl::StatusOr<Value> DefaultDType(HostCall&) { return Value::TorchDType(DType::kF32); }
absl::StatusOr<Value> MemoryInfo(HostCall& call) {
  const Value bytes = Value::Int(Facts(call) == nullptr ? int64_t{16} << 30 : Facts(call)->memory_bytes);
  return Value::Tuple({bytes, bytes});
}
absl::StatusOr<Value> IsTensor(HostCall& call) { return Value::Bool(AsTensor(call.args[0]) != nullptr); }

absl::StatusOr<Value> FInfo(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(0, DType::kF32));
  struct Row {
    DType dtype;
    double max, eps, tiny;
  };
  static const Row kRows[] = {
      {DType::kF16, 65504, 0x1p-10, 0x1p-14},
      {DType::kBF16, 0x1.fep127, 0x1p-7, 0x1p-126},
      {DType::kF32, std::numeric_limits<float>::max(), 0x1p-23, 0x1p-126},
      {DType::kF64, std::numeric_limits<double>::max(), 0x1p-52, std::numeric_limits<double>::min()},
      {DType::kF8E4M3, 448, 0x1p-3, 0x1p-6},
      {DType::kF8E5M2, 57344, 0x1p-2, 0x1p-14},
  };
  for (const Row& row : kRows) {
    if (row.dtype != dtype) continue;
    return Record::Make("torch.finfo", absl::StrCat("finfo(dtype=", TorchName(dtype), ")"),
                        {{"max", Value::Float(row.max)}, {"min", Value::Float(-row.max)}, {"eps", Value::Float(row.eps)},
                         {"tiny", Value::Float(row.tiny)}, {"smallest_normal", Value::Float(row.tiny)}, {"bits", Value::Int(isa::BitWidth(dtype))},
                         {"dtype", Value::String(TorchName(dtype).substr(6))}});
  }
  return call.Error("a floating point dtype is wanted, not ", TorchName(dtype));
}

absl::StatusOr<Value> IInfo(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(0, DType::kI32));
  if (isa::IsFloat(dtype) || dtype == DType::kI1) return call.Error("an integer dtype is wanted, not ", TorchName(dtype));
  const int bits = isa::BitWidth(dtype);
  const absl::int128 one = 1;
  const absl::int128 max = isa::IsSigned(dtype) ? (one << (bits - 1)) - 1 : (one << bits) - 1;
  const absl::int128 min = isa::IsSigned(dtype) ? -(one << (bits - 1)) : absl::int128(0);
  return Record::Make("torch.iinfo", absl::StrCat("iinfo(dtype=", TorchName(dtype), ")"),
                      {{"max", Value::Int(max)}, {"min", Value::Int(min)}, {"bits", Value::Int(bits)}, {"dtype", Value::String(TorchName(dtype).substr(6))}});
}

absl::StatusOr<Value> SizeOf(HostCall& call) {  // torch.Size([2, 3])
  TILEVM_ASSIGN_OR_RETURN(Shape shape, call.ShapeArg(0));
  std::vector<Value> items;
  for (int64_t extent : shape) items.push_back(Value::Int(extent));
  return specializer::MakeNamedTuple("torch.Size", {}, std::move(items));
}

absl::StatusOr<Value> Promote(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(DType a, call.DTypeArg(0, DType::kF32));
  TILEVM_ASSIGN_OR_RETURN(DType b, call.DTypeArg(1, DType::kF32));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, PromoteDTypes(a, b));
  return Value::TorchDType(dtype);
}

constexpr HostOp kOps[] = {
    {"device", "device/type index?", Device},
    {"cuda.is_available", "", True},
    {"cuda.is_initialized", "", True},
    {"cuda.is_bf16_supported", "", True},
    {"xpu.is_available mps.is_available backends.mps.is_available", "", False},
    {"cuda.current_device", "", Number, 0},
    {"cuda.device_count", "", Number, 1},
    {"cuda.memory_allocated cuda.max_memory_allocated cuda.memory_reserved", "device?", Number, 0},
    {"cuda.synchronize cuda.empty_cache cuda.init cuda.reset_peak_memory_stats cuda.set_device cpu.synchronize", "device?", Nothing},
    {"set_printoptions set_default_device set_num_threads use_deterministic_algorithms set_float32_matmul_precision set_grad_enabled", "values* | precision? sci_mode? linewidth? threshold?", Nothing},
    {"cuda.get_device_properties", "device?", Properties},
    {"cuda.get_device_name", "device?", DeviceName},
    {"cuda.get_device_capability", "device?", Capability},
    {"cuda.mem_get_info", "device?", MemoryInfo},
    {"cuda.Stream cuda.current_stream cuda.default_stream", "device? | priority?", Stream},
    {"cuda.Event", "enable_timing? | blocking? interprocess?", Stream},
    {"no_grad enable_grad inference_mode cuda.device cuda.stream autocast cuda.amp.autocast device_context cuda.device_of", "values* | enabled? dtype? device_type? mode?", Context},
    {"compile jit.script jit.ignore compiler.disable amp.custom_fwd amp.custom_bwd cuda.amp.custom_fwd cuda.amp.custom_bwd", "function* | mode? fullgraph? dynamic? backend? recursive? device_type? cast_inputs? model?", Decorator},
    {"get_default_dtype", "", DefaultDType},
    {"is_tensor", "x", IsTensor},
    {"is_grad_enabled", "", False},
    {"finfo", "dtype?", FInfo},
    {"iinfo", "dtype", IInfo},
    {"Size", "size", SizeOf},
    {"promote_types", "a b", Promote},
};

}  // namespace

absl::Span<const HostOp> DeviceOps() { return kOps; }

std::optional<Value> TorchConstant(absl::string_view path) {
  static const auto* constants = new absl::flat_hash_map<std::string, Value>({
      {"bool", Value::TorchDType(DType::kI1)},        {"int8", Value::TorchDType(DType::kI8)},       {"int16", Value::TorchDType(DType::kI16)},
      {"short", Value::TorchDType(DType::kI16)},      {"int32", Value::TorchDType(DType::kI32)},     {"int", Value::TorchDType(DType::kI32)},
      {"int64", Value::TorchDType(DType::kI64)},      {"long", Value::TorchDType(DType::kI64)},      {"uint8", Value::TorchDType(DType::kU8)},
      {"uint16", Value::TorchDType(DType::kU16)},     {"uint32", Value::TorchDType(DType::kU32)},    {"uint64", Value::TorchDType(DType::kU64)},
      {"float16", Value::TorchDType(DType::kF16)},    {"half", Value::TorchDType(DType::kF16)},      {"bfloat16", Value::TorchDType(DType::kBF16)},
      {"float32", Value::TorchDType(DType::kF32)},    {"float", Value::TorchDType(DType::kF32)},     {"float64", Value::TorchDType(DType::kF64)},
      {"double", Value::TorchDType(DType::kF64)},     {"float8_e4m3fn", Value::TorchDType(DType::kF8E4M3)},
      {"float8_e5m2", Value::TorchDType(DType::kF8E5M2)},
      {"pi", Value::Float(3.141592653589793)},     {"e", Value::Float(2.718281828459045)},     {"inf", Value::Float(INFINITY)},
      {"nan", Value::Float(NAN)},                  {"__version__", Value::String("2.11.0+tilevm")},
      {"version.cuda", Value::None()},             {"version.hip", Value::None()},
      {"contiguous_format", Value::String("contiguous_format")}, {"preserve_format", Value::String("preserve_format")},
      {"strided", Value::String("strided")},
      {"backends.cuda.matmul.allow_tf32", Value::Bool(false)},   {"backends.cudnn.allow_tf32", Value::Bool(false)},
  });
  const auto it = constants->find(path);
  if (it != constants->end()) return it->second;
  // Types and namespaces stand for themselves.
  for (absl::string_view name : {"Tensor", "dtype", "autograd.Function", "nn.Module", "nn.Parameter", "LongTensor", "FloatTensor", "autograd", "nn", "version",
                                 "backends", "backends.cuda", "backends.cuda.matmul", "backends.cudnn", "autograd.function", "types"}) {
    if (path == name) return Value::Builtin(absl::StrCat("torch.", path));
  }
  return std::nullopt;
}

}  // namespace tilevm::vm::host
