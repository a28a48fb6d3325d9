// device_print and device_assert: records for the host (gpu/device/records.cuh).
#include "gpu/emit/printer.h"

namespace tilevm::gpu {

absl::Status Printer::PrintPrint(const ir::Op& op) {
  RecordFormat format;
  format.text = std::string(op.StringAttr("prefix"));
  format.hex = op.BoolAttr("hex");
  format.loc = op.loc;
  int64_t bytes = 24;
  std::vector<int64_t> offsets;
  for (ir::ValueId id : op.operands) {
    format.operands.push_back(TypeOf(id));
    offsets.push_back(bytes);
    bytes += (TypeOf(id).elem_count() * isa::StorageBytes(TypeOf(id).elem) + 7) / 8 * 8;
  }
  UseShared(8);
  const std::string record = absl::StrCat("record", next_label_++);
  Line("unsigned char* ", record, " = open_record(tv_records, ", scratch_, ", ", formats_.size(), ", ", bytes, ", 0);");
  for (size_t i = 0; i < op.operands.size(); ++i) {
    Line("record_", IsTile(op.operands[i]) ? "tile" : "scalar", "(", record, ", ", offsets[i], ", ", Name(op.operands[i]), ");");
  }
  pending_ = Pending();
  formats_.push_back(std::move(format));
  return absl::OkStatus();
}

absl::Status Printer::PrintAssert(const ir::Op& op) {
  if (!kernel().options.debug) return absl::OkStatus();
  RecordFormat format;
  format.kind = RecordFormat::Kind::kAssert;
  format.text = std::string(op.StringAttr("msg"));
  format.operands = {TypeOf(op.operands[0])};
  format.loc = op.loc;
  UseShared(8);
  const ir::ValueId cond = op.operands[0], mask = op.operand(1);
  std::string lane;
  if (IsTile(cond)) {
    lane = absl::StrCat("failed_lane(", Name(cond), ", ", mask == ir::kNoValue ? "AllTrue{}" : Name(mask), ")");
  } else {
    lane = absl::StrCat("!", Name(cond), mask == ir::kNoValue ? "" : " && ", mask == ir::kNoValue ? "" : Name(mask), " ? 0u : 0xffffffffu");
  }
  Line("if (record_failure(tv_records, ", scratch_, ", ", formats_.size(), ", ", lane, ")) return;");
  pending_ = Pending();
  formats_.push_back(std::move(format));
  return absl::OkStatus();
}

}  // namespace tilevm::gpu
