#include "vm/host/compiled_handle.h"

#include "absl/strings/str_cat.h"
#include "vm/host/device_runner.h"
#include "vm/host/object.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

constexpr absl::string_view kTexts[] = {"source", "ttir", "ttgir", "llir", "ptx", "cubin"};

// compiled.asm: Triton's stages by name. A GPU gives its cubin; the others are texts of another compiler.
class Assembly : public specializer::HostObject {
 public:
  explicit Assembly(std::string cubin) : cubin_(std::move(cubin)) {}
  std::string type_name() const override { return "triton.compiler.AsmDict"; }

  absl::StatusOr<Value> Index(Evaluator&, const Value& key, Loc loc) override {
    if (!key.is(ValueKind::kString)) return InvalidAt(loc, "TypeError: asm is indexed with the name of a stage, not ", specializer::TypeName(key, nullptr));
    if (key.string() == "cubin" && !cubin_.empty()) return Value::String(cubin_);
    return UnimplementedAt(loc, "asm['", key.string(), "']: ", cubin_.empty() ? "the CPU engine makes no such text" : "a text of Triton's own compiler",
                           "; `tilevm inspect --stage` shows the program after every pass");
  }
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override {
    if (name == "keys" && args.positional.empty() && args.keyword.empty()) {
      std::vector<Value> names;
      for (absl::string_view text : kTexts) names.push_back(Value::String(std::string(text)));
      return Value::List(std::move(names));
    }
    if (name == "get" && !args.positional.empty()) {
      absl::StatusOr<Value> text = Index(evaluator, args.positional[0], loc);
      return text.ok() ? text : args.positional.size() > 1 ? args.positional[1] : Value::None();
    }
    return HostObject::CallMethod(evaluator, name, args, loc);
  }

 private:
  std::string cubin_;
};

class CompiledHandle : public specializer::HostObject {
 public:
  CompiledHandle(Value kernel, const BoundCall& bound, std::shared_ptr<const CompiledKernel> compiled)
      : kernel_(std::move(kernel)), name_(bound.function->name), options_(bound.options), compiled_(std::move(compiled)) {}
  std::string type_name() const override { return "triton.compiler.CompiledKernel"; }

  absl::StatusOr<Value> GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc) override {
    if (name == "name") return Value::String(name_);
    if (name == "n_regs" || name == "n_spills" || name == "n_max_threads" || name == "metadata" || name == "asm") {
      TILEVM_ASSIGN_OR_RETURN(const KernelResources resources, Resources(evaluator));
      if (name == "n_regs") return Value::Int(resources.registers);
      if (name == "n_spills") return Value::Int(resources.spill_bytes / 4);
      if (name == "n_max_threads") return Value::Int(1024);
      if (name == "asm") return Value::Shared(ValueKind::kObject, std::make_shared<Assembly>(resources.cubin));
      return host::Record::Make("metadata", absl::StrCat("<metadata of ", name_, ">"),
                                {{"shared", Value::Int(resources.shared_bytes)},
                                 {"num_warps", Value::Int(options_.num_warps)},
                                 {"num_stages", Value::Int(options_.num_stages)},
                                 {"num_ctas", Value::Int(options_.num_ctas)},
                                 {"name", Value::String(name_)}});
    }
    return HostObject::GetAttr(evaluator, name, loc);
  }
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override {
    if (name == "_init_handles" || name == "result") return Value::None();
    return HostObject::CallMethod(evaluator, name, args, loc);
  }
  absl::StatusOr<Value> Index(Evaluator&, const Value& grid, Loc) override {
    auto launch = std::make_shared<specializer::BoundMethodPayload>();
    launch->object = kernel_;
    launch->name = "[grid]";
    launch->function = grid;
    return Value::Shared(ValueKind::kBoundMethod, std::move(launch));
  }
  absl::StatusOr<bool> Truth(Evaluator&, Loc) override { return true; }
  std::string Repr() const override { return absl::StrCat("<CompiledKernel ", name_, ">"); }

 private:
  // The CPU engine has no registers and no shared memory to count: figures that let a program size its grid.
  absl::StatusOr<KernelResources> Resources(Evaluator& evaluator) const {
    const HostWorld& world = World(evaluator);
    if (DeviceRunner* device = world.options().device.get(); device != nullptr) {
      // Types may stand in for arguments: nothing is bound, and the grid is not known.
      absl::StatusOr<KernelResources> resources = device->Prepare(*compiled_, PreparedRun(), {1, 1, 1});
      if (resources.ok() || !world.GoesToCpu(resources.status())) return resources;
    }
    KernelResources resources;
    resources.registers = 32;
    resources.shared_bytes = 1024;
    return resources;
  }

  Value kernel_;
  std::string name_;
  ir::Options options_;
  std::shared_ptr<const CompiledKernel> compiled_;
};

}  // namespace

Value MakeCompiledHandle(const Value& kernel, const BoundCall& bound, std::shared_ptr<const CompiledKernel> compiled) {
  return Value::Shared(ValueKind::kObject, std::make_shared<CompiledHandle>(kernel, bound, std::move(compiled)));
}

}  // namespace tilevm::vm::host
