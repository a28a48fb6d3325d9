// The public door: entry bookkeeping (native stack, nesting) around the inside.
#include "specializer/partial_eval/evaluator.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

namespace {

// The walk recurses. It may use this much native stack, and always leaves a margin for the elaborator and the host below it.
constexpr size_t kMaxStackBytes = size_t{6} << 20;
constexpr size_t kStackMarginBytes = size_t{192} << 10;

// The lowest address of this thread's stack. Asking costs a system call, so each thread asks once.
char* StackBase() {
  thread_local char* base = [] {
    pthread_attr_t attributes;
    void* address = nullptr;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstack(&attributes, &address, &size);
      pthread_attr_destroy(&attributes);
    }
    return static_cast<char*>(address);
  }();
  return base;
}

}  // namespace

void Evaluator::Impl::SetStackLimit() {
  char* here = static_cast<char*>(__builtin_frame_address(0));
  char* base = StackBase();
  const size_t left = base != nullptr && here > base ? static_cast<size_t>(here - base) : kMaxStackBytes;
  const size_t use = std::min(kMaxStackBytes, left > 2 * kStackMarginBytes ? left - kStackMarginBytes : left / 2);
  thread_.stack_limit = here - use;
}

// Sets the stack limit on the outermost entry.
class Evaluator::Impl::EntryScope {
 public:
  explicit EntryScope(Impl& impl) : impl_(impl), counted_(impl.meter_) {
    if (impl_.entries_++ == 0) impl_.SetStackLimit();
  }
  ~EntryScope() { --impl_.entries_; }

 private:
  Impl& impl_;
  MeterScope counted_;
};

int64_t DefaultTensorBytes() {
  static const int64_t bytes = [] {
    const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? pages / 8 * 7 * page : int64_t{1} << 40;
  }();
  return bytes;
}

absl::StatusOr<Value> Host::CallBuiltin(Evaluator&, absl::string_view path, const CallArgs&, Loc loc) {
  return UnimplementedAt(loc, "'", path, "' is not available");
}
absl::StatusOr<Value> Host::BuiltinValue(Evaluator&, absl::string_view path, Loc loc) { return UnimplementedAt(loc, "'", path, "' is not available"); }
OutsideName Host::LookUpName(absl::string_view) { return {}; }
absl::StatusOr<Value> Host::Launch(Evaluator&, const Value&, const Value&, const CallArgs&, Loc loc) {
  return UnimplementedAt(loc, "launching a kernel is not available here");
}
void Host::Print(absl::string_view) {}
void Host::PrintError(absl::string_view) {}

void Evaluator::Impl::PrintText(absl::string_view text, absl::string_view end) {
  absl::StrAppend(&unfinished_line_, text, end);
  size_t newline;
  while ((newline = unfinished_line_.find('\n')) != std::string::npos) {
    host_->Print(absl::string_view(unfinished_line_).substr(0, newline));
    unfinished_line_.erase(0, newline + 1);
  }
}

void Evaluator::Impl::FlushPrint() {
  if (!unfinished_line_.empty()) PrintText("", "\n");
}

Evaluator::Evaluator(const isa::Module* module, Host* host, Limits limits) : impl_(std::make_unique<Impl>(this, module, host, limits)) {}
Evaluator::~Evaluator() = default;

const isa::Module& Evaluator::module() const { return impl_->module(); }
MemoryMeter* Evaluator::meter() { return impl_->meter(); }
Host* Evaluator::host() { return &impl_->host(); }

absl::Status Evaluator::RunMain() {
  Impl::EntryScope entry(*impl_);
  absl::Status status = impl_->RunMain();
  impl_->FlushPrint();
  return status;
}

absl::StatusOr<Value> Evaluator::Global(absl::string_view name) {
  Impl::EntryScope entry(*impl_);
  absl::StatusOr<Value> value = impl_->UnitGlobal(0, name, {});
  if (value.ok() && value->is(ValueKind::kUnbound)) return absl::NotFoundError(absl::StrCat("name '", name, "' is not defined"));
  return value;
}

absl::StatusOr<Value> Evaluator::Call(const Value& callee, const CallArgs& args, Loc loc) {
  Impl::EntryScope entry(*impl_);
  return impl_->CallValue(callee, args, false, loc);
}

absl::StatusOr<ir::Kernel> Evaluator::Specialize(const Value& kernel, const SpecializationKey& key) {
  Impl::EntryScope entry(*impl_);
  return impl_->Specialize(kernel, key);
}

std::string Evaluator::GlobalsKey(const Value& kernel) {
  Impl::EntryScope entry(*impl_);
  return impl_->GlobalsKey(kernel);
}

absl::StatusOr<const isa::Function*> Evaluator::KernelFunction(const Value& kernel) const {
  TILEVM_ASSIGN_OR_RETURN(const FunctionPayload* function, impl_->UnderlyingFunction(kernel, {}));
  return &function->module->functions[function->function];
}

absl::StatusOr<Value> Evaluator::GetAttr(const Value& object, absl::string_view name, Loc loc) {
  Impl::EntryScope entry(*impl_);
  return impl_->GetAttr(object, name, impl_->in_kernel() && ContainsTyped(object), loc);
}
absl::StatusOr<Value> Evaluator::Binary(isa::Op op, const Value& x, const Value& y, Loc loc) {
  Impl::EntryScope entry(*impl_);
  if (isa::Info(op).operands.size() == 1) return impl_->Unary(op, x, loc);
  return impl_->Binary(op, x, y, loc);
}
absl::StatusOr<Value> Evaluator::Index(const Value& object, const Value& subscript, Loc loc) {
  Impl::EntryScope entry(*impl_);
  return impl_->Index(object, subscript, loc);
}
absl::StatusOr<bool> Evaluator::Truth(const Value& value, Loc loc) {
  Impl::EntryScope entry(*impl_);
  return impl_->Truth(value, loc);
}
absl::StatusOr<std::vector<Value>> Evaluator::Iterate(const Value& value, Loc loc) {
  Impl::EntryScope entry(*impl_);
  return impl_->Iterate(value, loc);
}

}  // namespace tilevm::specializer
