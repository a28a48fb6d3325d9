#include "gpu/compile/text_entry.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "gpu/compile/entry_bytes.h"
#include "isa/tbc_bytes.h"
#include "isa/types.h"
#include "specializer/launch/slice.h"

namespace tilevm::gpu {
namespace {

using isa::ByteReader;
using isa::ByteWriter;

constexpr absl::string_view kPrefix = "tilevm text 1\n";  // no other kind of entry passes for a text

bool ReadBool(ByteReader& in) {
  const uint8_t value = in.U8();
  if (value > 1) in.Fail("a truth value");
  return value == 1;
}
int64_t ReadInt(ByteReader& in, int64_t least, int64_t most) {
  const int64_t value = static_cast<int64_t>(in.Fixed(8));
  if (value < least || value > most) in.Fail("a number out of range");
  return in.ok() ? value : least;
}
Loc ReadLoc(ByteReader& in) {
  Loc loc;
  for (int32_t* part : {&loc.file, &loc.line, &loc.col}) *part = static_cast<int32_t>(in.Fixed(4));
  return loc;
}
isa::Type ReadType(ByteReader& in) {
  isa::Type type;
  const std::optional<isa::DType> dtype = isa::DTypeFromCode(in.U8());
  if (!dtype.has_value()) in.Fail("an element type");
  type.elem = {dtype.value_or(isa::DType::kI32), ReadBool(in)};
  const size_t rank = in.Count(1, "extents");
  if (rank > isa::kMaxRank) in.Fail("a rank");
  int64_t elements = 1;
  for (size_t i = 0; i < rank && in.ok(); ++i) {
    const uint64_t extent = in.Varint();
    if (extent < 1 || extent > static_cast<uint64_t>(isa::kMaxTileElems / elements)) in.Fail("an extent");
    if (!in.ok()) break;
    elements *= static_cast<int64_t>(extent);
    type.shape.push_back(static_cast<int64_t>(extent));
  }
  return type;
}

RecordFormat ReadRecord(ByteReader& in) {
  RecordFormat record;
  record.kind = ReadBool(in) ? RecordFormat::Kind::kAssert : RecordFormat::Kind::kPrint;
  record.text = std::string(in.Text());
  record.hex = ReadBool(in);
  const size_t operands = in.Count(3, "operands");
  if (record.kind == RecordFormat::Kind::kAssert && operands != 1) in.Fail("an assert of no condition");
  for (size_t i = 0; i < operands && in.ok(); ++i) record.operands.push_back(ReadType(in));
  record.loc = ReadLoc(in);
  return record;
}

// It names what the kernel has alone.
bool Fits(const launch::Slice& slice, const ir::Kernel& kernel) {
  for (const launch::NodeDef& node : slice.nodes) {
    if (node.op == launch::NodeOp::kParam && static_cast<size_t>(node.value) >= kernel.params.size()) return false;
    if ((node.op == launch::NodeOp::kLeast || node.op == launch::NodeOp::kMost) && static_cast<size_t>(node.value) >= kernel.values.size()) return false;
  }
  return true;
}

}  // namespace

std::string EncodeText(const Emitted& e) {
  ByteWriter out;
  out.Text(e.text);
  out.Text(e.entry);
  Put(out, e.threads);
  Put(out, e.smem_bytes);
  Put(out, e.smem_buffers);
  Put(out, e.smem_loc);
  out.Varint(e.records.size());
  for (const RecordFormat& record : e.records) {
    out.U8(record.kind == RecordFormat::Kind::kAssert);
    out.Text(record.text);
    out.U8(record.hex);
    out.Varint(record.operands.size());
    for (const isa::Type& type : record.operands) Put(out, type);
    Put(out, record.loc);
  }
  out.Varint(e.may_write.size());
  for (bool written : e.may_write) out.U8(written);
  out.Text(launch::Encode(e.slice));
  for (bool flag : {e.begins_early, e.persistent, e.dealt, e.strided}) out.U8(flag);
  for (int number : {e.programs, e.packed, e.ctas}) Put(out, number);
  out.Varint(e.runs.size());
  for (const auto& [low, high] : e.runs) {
    out.Varint(low);
    out.Varint(high);
  }
  return std::string(kPrefix) + out.bytes();
}

absl::StatusOr<Emitted> DecodeText(absl::string_view bytes, const ir::Kernel& kernel) {
  if (bytes.substr(0, kPrefix.size()) != kPrefix) return absl::DataLossError("no text of a kernel");
  ByteReader in(bytes.substr(kPrefix.size()), kPrefix.size());
  constexpr int64_t kMostBytes = int64_t{1} << 30, kMost = 1 << 16;
  Emitted e;
  e.text = std::string(in.Text());
  e.entry = std::string(in.Text());
  e.threads = static_cast<int>(ReadInt(in, 1, 1024));
  e.smem_bytes = ReadInt(in, 0, kMostBytes);
  e.smem_buffers = ReadInt(in, 0, kMostBytes);
  e.smem_loc = ReadLoc(in);
  const size_t records = in.Count(16, "records");
  for (size_t i = 0; i < records && in.ok(); ++i) e.records.push_back(ReadRecord(in));
  const size_t written = in.Count(1, "parameters");
  if (written != 0 && written != kernel.params.size()) in.Fail("parameters that the kernel does not have");
  for (size_t i = 0; i < written && in.ok(); ++i) e.may_write.push_back(ReadBool(in));
  const absl::string_view slice = in.Text();
  for (bool* flag : {&e.begins_early, &e.persistent, &e.dealt, &e.strided}) *flag = ReadBool(in);
  for (int* number : {&e.programs, &e.packed, &e.ctas}) *number = static_cast<int>(ReadInt(in, 1, kMost));
  const size_t runs = in.Count(2, "loops");
  for (size_t i = 0; i < runs && in.ok(); ++i) {
    const ir::ValueId low = in.Id(kernel.values.size(), "value");
    e.runs.emplace_back(low, in.Id(kernel.values.size(), "value"));
  }
  if (in.left() != 0) in.Fail("something behind the end");
  if (!in.ok()) return in.status();
  absl::StatusOr<launch::Slice> decoded = launch::Decode(slice);
  if (!decoded.ok()) return decoded.status();
  if (!Fits(*decoded, kernel)) return absl::DataLossError("a launch slice of another kernel");
  e.slice = *std::move(decoded);
  return e;
}

}  // namespace tilevm::gpu
