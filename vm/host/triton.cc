// triton's host side as the CPU engine answers it: driver queries, testing, tensor descriptors; and the few functions of Python's library that
// kernel files call at import (os.environ, time, packaging.version).
#include <algorithm>
#include <chrono>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "vm/host/device_runner.h"
#include "vm/host/host.h"
#include "vm/host/object.h"
#include "vm/host/path_call.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

// @triton.testing.perf_report(...): a function whose run() is skipped; called, it is the function.
class PerfReport : public specializer::HostObject {
 public:
  explicit PerfReport(Value function) : function_(std::move(function)) {}
  std::string type_name() const override { return "triton.testing.Mark"; }
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override {
    if (name != "run") return HostObject::CallMethod(evaluator, name, args, loc);
    std::string what = "benchmark";
    if (function_.is(ValueKind::kFunction)) {
      const auto* f = function_.As<specializer::FunctionPayload>();
      what = f->module->functions[f->function].name;
    }
    World(evaluator).Print(absl::StrCat(what, ": skipped (perf_report does not run here)"));
    return Value::None();
  }
  absl::StatusOr<Value> Call(Evaluator& evaluator, const CallArgs& args, Loc loc) override { return evaluator.Call(function_, args, loc); }

 private:
  Value function_;
};

class PerfReportDecorator : public specializer::HostObject {
 public:
  std::string type_name() const override { return "triton.testing.perf_report"; }
  absl::StatusOr<Value> Call(Evaluator& evaluator, const CallArgs& args, Loc loc) override {
    if (args.positional.size() != 1) return HostObject::Call(evaluator, args, loc);
    return Value::Shared(ValueKind::kObject, std::make_shared<PerfReport>(args.positional[0]));
  }
};

// packaging.version.Version: compared number by number.
class Version : public specializer::HostObject {
 public:
  explicit Version(std::string text) : text_(std::move(text)) {}
  std::string type_name() const override { return "packaging.version.Version"; }
  std::string Repr() const override { return absl::StrCat("<Version('", text_, "')>"); }
  absl::StatusOr<Value> Binary(Evaluator& evaluator, isa::Op op, const Value& other, bool reflected, Loc loc) override {
    const auto* v = other.is(ValueKind::kObject) ? dynamic_cast<const Version*>(other.payload().get()) : nullptr;
    if (v == nullptr) return HostObject::Binary(evaluator, op, other, reflected, loc);
    const std::vector<int> a = reflected ? v->Numbers() : Numbers(), b = reflected ? Numbers() : v->Numbers();
    switch (op) {
      case isa::Op::kLt: return Value::Bool(a < b);
      case isa::Op::kLe: return Value::Bool(a <= b);
      case isa::Op::kGt: return Value::Bool(a > b);
      case isa::Op::kGe: return Value::Bool(a >= b);
      case isa::Op::kEq: return Value::Bool(a == b);
      case isa::Op::kNe: return Value::Bool(a != b);
      default: return HostObject::Binary(evaluator, op, other, reflected, loc);
    }
  }

 private:
  std::vector<int> Numbers() const {
    std::vector<int> numbers;
    const std::string release = text_.substr(0, text_.find('+'));
    for (absl::string_view part : absl::StrSplit(release, '.')) {
      int n = 0;
      if (!absl::SimpleAtoi(part, &n)) break;
      numbers.push_back(n);
    }
    while (!numbers.empty() && numbers.back() == 0) numbers.pop_back();
    return numbers;
  }
  std::string text_;
};

absl::StatusOr<Value> Nothing(const PathCall&) { return Value::None(); }
absl::StatusOr<Value> Zero(const PathCall&) { return Value::Int(0); }
absl::StatusOr<Value> ActiveDevice(const PathCall& call) { return World(call.evaluator).active_is_cpu ? MakeDevice("cpu", -1) : MakeDevice("cuda", 0); }
absl::StatusOr<Value> ActivateCpu(const PathCall& call) {
  World(call.evaluator).active_is_cpu = true;
  return Value::None();
}
absl::StatusOr<Value> ActivateGpu(const PathCall& call) {
  World(call.evaluator).active_is_cpu = false;
  return Value::None();
}
const DeviceFacts* Facts(const PathCall& call) {
  const std::shared_ptr<DeviceRunner>& device = World(call.evaluator).options().device;
  return device == nullptr ? nullptr : &device->facts();
}
absl::StatusOr<Value> Properties(const PathCall& call) { return DevicePropertiesRecord(Facts(call)); }
absl::StatusOr<Value> NoDevices(const PathCall&) { return Value::List({}); }
absl::StatusOr<Value> Target(const PathCall& call) {
  if (World(call.evaluator).active_is_cpu) {
    return Record::Make("GPUTarget", "GPUTarget(backend='cpu', arch='cpu', warp_size=0)",
                        {{"backend", Value::String("cpu")}, {"arch", Value::String("cpu")}, {"warp_size", Value::Int(0)}});
  }
  const DeviceFacts* facts = Facts(call);
  const int arch = facts == nullptr ? 90 : facts->major * 10 + facts->minor;
  return Record::Make("GPUTarget", absl::StrCat("GPUTarget(backend='cuda', arch=", arch, ", warp_size=32)"),
                      {{"backend", Value::String("cuda")}, {"arch", Value::Int(arch)}, {"warp_size", Value::Int(32)}});
}
absl::StatusOr<Value> EnvironmentDefault(const PathCall& call) {  // os.getenv
  const Value otherwise = call.Arg(1, "default");
  const Value* value = specializer::DictFind(*World(call.evaluator).environment().As<specializer::DictPayload>(), call.Arg(0, "key"));
  if (value != nullptr) return *value;
  return otherwise.absent() ? Value::None() : otherwise;
}
absl::StatusOr<Value> MakeVersion(const PathCall& call) {
  const Value text = call.Arg(0, "version");
  if (!text.is(ValueKind::kString)) return InvalidAt(call.loc, call.path, ": a string is wanted");
  return Value::Shared(ValueKind::kObject, std::make_shared<Version>(text.string()));
}

// tabulate.tabulate(rows, headers=...): columns as wide as their longest cell.
absl::StatusOr<Value> Tabulate(const PathCall& call) {
  std::vector<std::vector<std::string>> rows;
  const Value headers = call.Arg(1, "headers");
  const bool has_headers = headers.is(ValueKind::kList) || headers.is(ValueKind::kTuple);
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> body, call.evaluator.Iterate(call.Arg(0, "tabular_data"), call.loc));
  if (has_headers) body.insert(body.begin(), headers);
  std::vector<size_t> widths;
  for (const Value& row : body) {
    TILEVM_ASSIGN_OR_RETURN(std::vector<Value> cells, call.evaluator.Iterate(row, call.loc));
    rows.emplace_back();
    for (const Value& cell : cells) {
      rows.back().push_back(cell.is(ValueKind::kFloat) ? absl::StrFormat("%g", cell.float_value()) : specializer::Str(cell));
      if (widths.size() < rows.back().size()) widths.push_back(0);
      widths[rows.back().size() - 1] = std::max(widths[rows.back().size() - 1], rows.back().back().size());
    }
  }
  std::string rule;
  for (size_t w : widths) absl::StrAppend(&rule, rule.empty() ? "" : "  ", std::string(w, '-'));
  std::string text = has_headers ? "" : rule + "\n";
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (size_t c = 0; c < rows[r].size(); ++c) absl::StrAppend(&line, c == 0 ? "" : "  ", rows[r][c], std::string(widths[c] - rows[r][c].size(), ' '));
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
    if (has_headers && r == 0) text += rule + "\n";
  }
  return Value::String(has_headers ? text.substr(0, text.size() - 1) : text + rule);
}

absl::StatusOr<Value> PerfReportOf(const PathCall&) { return Value::Shared(ValueKind::kObject, std::make_shared<PerfReportDecorator>()); }
absl::StatusOr<Value> Benchmark(const PathCall& call) {
  Record::Attributes attributes;
  for (const auto& [name, value] : call.args.keyword) attributes.emplace_back(name, value);
  return Record::Make("triton.testing.Benchmark", "<Benchmark>", std::move(attributes));
}

// On a GPU the median over rounds of what the function's launches took there, in milliseconds; host work between them does not count. On the CPU engine the
// function runs once, and the milliseconds are the host's (`tilevm run --stats` tells more).
absl::StatusOr<Value> DoBench(const PathCall& call) {
  const Value function = call.Arg(0, "fn");
  if (function.absent()) return InvalidAt(call.loc, call.path, ": missing argument 'fn'");
  HostWorld& world = World(call.evaluator);
  const auto run = [&]() -> absl::StatusOr<double> {
    const double before = world.device_us();
    const auto start = std::chrono::steady_clock::now();
    TILEVM_RETURN_IF_ERROR(call.evaluator.Call(function, CallArgs{}, call.loc).status());
    const double on_device = world.device_us() - before;
    return on_device > 0 ? on_device / 1000 : std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  };
  std::vector<double> times(1);
  TILEVM_ASSIGN_OR_RETURN(times[0], run());
  if (world.device_us() > 0) {
    // The first run compiled and loaded. A tenth of a second of rounds, 3 at least.
    const int rounds = static_cast<int>(std::min(100.0, std::max(3.0, 100.0 / std::max(times[0], 1e-3))));
    times.resize(rounds);
    for (double& ms : times) {
      TILEVM_ASSIGN_OR_RETURN(ms, run());
    }
    std::sort(times.begin(), times.end());
  }
  const auto quantile = [&](double q) { return Value::Float(times[std::min(times.size() - 1, static_cast<size_t>(q * static_cast<double>(times.size())))]); };
  const Value quantiles = call.Arg(4, "quantiles");
  if (!quantiles.is(ValueKind::kList) && !quantiles.is(ValueKind::kTuple)) return quantile(0.5);
  std::vector<Value> out;
  for (const Value& q : quantiles.items()) {
    if (!q.is(ValueKind::kFloat) && !q.is(ValueKind::kInt)) return InvalidAt(call.loc, call.path, ": quantiles must be numbers");
    const double number = q.is(ValueKind::kFloat) ? q.float_value() : static_cast<double>(q.int_value());
    if (!(number >= 0 && number <= 1)) return InvalidAt(call.loc, call.path, ": a quantile lies between 0 and 1");
    out.push_back(quantile(number));
  }
  return Value::List(std::move(out));
}

absl::StatusOr<Value> AssertClose(const PathCall& call) {
  CallArgs args = call.args;
  return CallHostOp(call.evaluator, *FindTorchFunction("testing.assert_close"), call.path, Value(), args, call.loc);
}

absl::StatusOr<Value> Reinterpret(const PathCall& call) {
  HostTensor* tensor = AsTensor(call.Arg(0, "tensor"));
  const Value dtype = call.Arg(1, "dtype");
  if (tensor == nullptr || !dtype.is(ValueKind::kDType)) return InvalidAt(call.loc, call.path, ": a tensor and a dtype are wanted");
  Tensor t = tensor->tensor;
  if (isa::StorageBytes(dtype.dtype()) != t.item_bytes()) return InvalidAt(call.loc, call.path, ": the dtypes differ in width");
  t.dtype = dtype.dtype();
  return MakeTensorValue(t);
}

// The handle to cuBLAS that Triton ships for its benchmarks: matmul(a, b, c) is c = a @ b.T.
class CublasLt : public specializer::HostObject {
 public:
  std::string type_name() const override { return "triton._C.libtriton.nvidia.cublas.CublasLt"; }
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override {
    if (name != "matmul") return HostObject::CallMethod(evaluator, name, args, loc);
    HostTensor* tensors[3] = {};
    for (size_t i = 0; i < 3; ++i) tensors[i] = i < args.positional.size() ? AsTensor(args.positional[i]) : nullptr;
    if (args.positional.size() != 3 || std::find(std::begin(tensors), std::end(tensors), nullptr) != std::end(tensors) || tensors[1]->tensor.rank() != 2) {
      return InvalidAt(loc, "CublasLt.matmul: three matrices are wanted");
    }
    absl::StatusOr<Tensor> product = MatMul(tensors[0]->tensor, Transposed(tensors[1]->tensor, 0, 1));
    if (!product.ok()) return InvalidAt(loc, "CublasLt.matmul: ", product.status().message());
    TILEVM_RETURN_IF_ERROR(WithLoc(CopyInto(tensors[2]->tensor, *product), loc));
    return Value::None();
  }
};
absl::StatusOr<Value> MakeCublasLt(const PathCall&) { return Value::Shared(ValueKind::kObject, std::make_shared<CublasLt>()); }

std::vector<Value> Ints(const Shape& shape) {
  std::vector<Value> items;
  for (int64_t extent : shape) items.push_back(Value::Int(extent));
  return items;
}

// TensorDescriptor(base, shape, strides, block_shape, padding="zero") with Triton's demands.
absl::StatusOr<Value> Descriptor(const PathCall& call) {
  const bool from_tensor = absl::EndsWith(call.path, ".from_tensor");
  const Value base = call.Arg(0, from_tensor ? "tensor" : "base");
  HostTensor* tensor = AsTensor(base);
  if (tensor == nullptr) return InvalidAt(call.loc, "TensorDescriptor: a tensor is wanted");
  const Tensor& t = tensor->tensor;
  Value shape = from_tensor ? Value::List(Ints(t.shape)) : call.Arg(1, "shape");
  Value strides = from_tensor ? Value::List(Ints(t.strides)) : call.Arg(2, "strides");
  const Value block = from_tensor ? call.Arg(1, "block_shape") : call.Arg(3, "block_shape");
  const Value padding = from_tensor ? call.Arg(2, "padding") : call.Arg(4, "padding");
  for (const Value* list : std::initializer_list<const Value*>{&shape, &strides, &block}) {
    if (!list->is(ValueKind::kList) && !list->is(ValueKind::kTuple))
      return InvalidAt(call.loc, "TensorDescriptor: shape, strides and block_shape must be lists of ints");
    for (const Value& v : list->items()) {
      if (!v.is(ValueKind::kInt)) return InvalidAt(call.loc, "TensorDescriptor: shape, strides and block_shape must be lists of ints");
    }
  }
  const size_t rank = shape.items().size();
  if (rank == 0 || rank > 5 || strides.items().size() != rank || block.items().size() != rank) {
    return InvalidAt(call.loc, "TensorDescriptor: shape, strides and block_shape need one length, from 1 to 5; they have ", rank, ", ", strides.items().size(),
                     " and ", block.items().size());
  }
  if (t.address() % 16 != 0) return InvalidAt(call.loc, "TensorDescriptor: base must be 16-byte aligned");
  for (size_t i = 0; i + 1 < rank; ++i) {
    if (strides.items()[i].int_value() * t.item_bytes() % 16 != 0) {
      return InvalidAt(call.loc, "TensorDescriptor: stride ", i, " is ", specializer::Str(strides.items()[i]), " elements of ", t.item_bytes(),
                       " bytes; strides must be multiples of 16 bytes");
    }
  }
  if (strides.items()[rank - 1].int_value() != 1) return InvalidAt(call.loc, "TensorDescriptor: the last dimension must be contiguous");
  return Record::Make("TensorDescriptor", "<TensorDescriptor>",
                      {{"base", base}, {"shape", shape}, {"strides", strides}, {"block_shape", block},
                       {"padding", padding.is(ValueKind::kString) ? padding : Value::String("zero")}});
}

const absl::flat_hash_map<absl::string_view, PathFunction>& Functions() {
  static auto* const functions = new absl::flat_hash_map<absl::string_view, PathFunction>({
      {"triton.runtime.driver.active.get_active_torch_device", ActiveDevice},
      {"triton.runtime.driver.active.get_current_device", Zero},
      {"triton.runtime.driver.active.get_current_target", Target},
      {"triton.runtime.driver.active.get_current_stream", Zero},
      {"triton.runtime.driver.active.set_current_device", Nothing},
      {"triton.runtime.driver.active.utils.get_device_properties", Properties},
      {"triton.runtime.driver.active.clear_cache", Nothing},
      {"triton.runtime.driver.set_active_to_cpu", ActivateCpu},
      {"triton.runtime.driver.set_active_to_gpu", ActivateGpu},
      {"triton.runtime.driver.set_active", Nothing},
      {"triton.runtime.driver.get_active_gpus", NoDevices},
      {"triton.set_allocator", Nothing},
      {"triton.testing.do_bench", DoBench},
      {"triton.testing.do_bench_cudagraph", DoBench},
      {"triton.testing.perf_report", PerfReportOf},
      {"triton.testing.Benchmark", Benchmark},
      {"triton.testing.assert_close", AssertClose},
      {"triton.reinterpret", Reinterpret},
      {"triton._C.libtriton.nvidia.cublas.CublasLt", MakeCublasLt},
      {"triton.tools.tensor_descriptor.TensorDescriptor", Descriptor},
      {"triton.tools.tensor_descriptor.TensorDescriptor.from_tensor", Descriptor},
      {"os.getenv", EnvironmentDefault},
      {"warnings.warn", Nothing},
      {"warnings.filterwarnings", Nothing},
      {"packaging.version.Version", MakeVersion},
      {"packaging.version.parse", MakeVersion},
      {"tabulate.tabulate", Tabulate},
  });
  static const bool complete = [] {
    for (const auto& [path, function] : PythonModuleFunctions()) functions->emplace(path, function);
    return true;
  }();
  static_cast<void>(complete);
  return *functions;
}

}  // namespace

absl::StatusOr<std::optional<Value>> CallTriton(Evaluator& evaluator, absl::string_view path, const CallArgs& args, Loc loc) {
  const auto it = Functions().find(path);
  if (it == Functions().end()) return std::optional<Value>();
  TILEVM_ASSIGN_OR_RETURN(Value value, it->second(PathCall{evaluator, path, args, loc}));
  return std::optional<Value>(std::move(value));
}

absl::StatusOr<std::optional<Value>> TritonValue(Evaluator& evaluator, absl::string_view path, Loc) {
  if (std::optional<Value> value = PythonModuleValue(evaluator, path)) return value;
  if (path == "triton.__version__") return std::optional<Value>(Value::String("3.6.0"));
  if (path == "triton.runtime.driver.active.utils.max_shared_mem") {
    const std::shared_ptr<DeviceRunner>& device = World(evaluator).options().device;
    return std::optional<Value>(Value::Int(device == nullptr ? 232448 : device->facts().smem_per_block));
  }
  if (path == "os.environ") return std::optional<Value>(World(evaluator).environment());
  // A function, or a namespace that functions lie below.
  for (const auto& [name, function] : Functions()) {
    if (name == path || (absl::StartsWith(name, path) && name[path.size()] == '.')) return std::optional<Value>(Value::Builtin(std::string(path)));
  }
  return std::optional<Value>();
}

}  // namespace tilevm::vm::host
