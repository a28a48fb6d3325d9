// Plain objects of the host world: a type name and attributes. Device properties, dtype limits, contexts that do nothing.
#ifndef TILEVM_VM_HOST_OBJECT_H_
#define TILEVM_VM_HOST_OBJECT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vm/host/tensor.h"

namespace tilevm::vm::host {

class Record : public specializer::HostObject {
 public:
  using Attributes = std::vector<std::pair<std::string, Value>>;
  Record(std::string type, std::string repr, Attributes attributes) : type_(std::move(type)), repr_(std::move(repr)), attributes_(std::move(attributes)) {}

  static Value Make(std::string type, std::string repr, Attributes attributes) {
    return Value::Shared(specializer::ValueKind::kObject, std::make_shared<Record>(std::move(type), std::move(repr), std::move(attributes)));
  }

  std::string type_name() const override { return type_; }
  std::string Repr() const override { return repr_; }
  const Value* Find(absl::string_view name) const;

  absl::StatusOr<Value> GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc) override;
  absl::Status SetAttr(Evaluator& evaluator, absl::string_view name, const Value& value, Loc loc) override;
  // __enter__, __exit__; record(), synchronize(), ... of events and streams do nothing.
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override;
  // A record used as a decorator gives its function back (torch.no_grad()).
  absl::StatusOr<Value> Call(Evaluator& evaluator, const CallArgs& args, Loc loc) override;
  // x["name"] (device properties).
  absl::StatusOr<Value> Index(Evaluator& evaluator, const Value& subscript, Loc loc) override;
  absl::StatusOr<Value> Binary(Evaluator& evaluator, isa::Op op, const Value& other, bool reflected, Loc loc) override;

 private:
  std::string type_, repr_;
  Attributes attributes_;
};

// Null if the value is no record of that type.
Record* AsRecord(const Value& value, absl::string_view type);

Value MakeDevice(absl::string_view type, int index);
struct DeviceFacts;
// Null: the CPU engine.
Value DevicePropertiesRecord(const DeviceFacts* facts);

}  // namespace tilevm::vm::host

#endif  // TILEVM_VM_HOST_OBJECT_H_
