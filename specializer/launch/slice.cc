#include "specializer/launch/slice.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tilevm::launch {
namespace {

struct OpInfo {
  const char* name;
  int operands;
};
constexpr OpInfo kOps[] = {{"const", 0}, {"param", 0}, {"grid", 0}, {"add", 2}, {"sub", 2},  {"mul", 2},        {"floordiv", 2}, {"ceildiv", 2},
                           {"mod", 2},   {"min", 2},   {"max", 2},  {"less", 2}, {"less_equal", 2}, {"equal", 2}, {"and", 2},      {"or", 2},
                           {"least", 0}, {"most", 0}};
constexpr int kOpCount = sizeof(kOps) / sizeof(kOps[0]);
static_assert(kOpCount == static_cast<int>(NodeOp::kMost) + 1);
const OpInfo& InfoOf(NodeOp op) { return kOps[static_cast<int>(op)]; }

// nullopt: the result leaves 64 bits, or there is none.
std::optional<int64_t> Apply(NodeOp op, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (op) {
    case NodeOp::kAdd: return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional<int64_t>(out);
    case NodeOp::kSub: return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional<int64_t>(out);
    case NodeOp::kMul: return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional<int64_t>(out);
    case NodeOp::kFloorDiv: case NodeOp::kCeilDiv: case NodeOp::kMod: {
      if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
      const int64_t quotient = a / b, rest = a % b;
      const bool below = rest != 0 && (rest < 0) != (b < 0);  // the quotient was rounded up
      if (op == NodeOp::kMod) return below ? rest + b : rest;
      if (op == NodeOp::kFloorDiv) return below ? quotient - 1 : quotient;
      return rest != 0 && !below ? quotient + 1 : quotient;
    }
    case NodeOp::kMin: return std::min(a, b);
    case NodeOp::kMax: return std::max(a, b);
    case NodeOp::kLess: return a < b;
    case NodeOp::kLessEqual: return a <= b;
    case NodeOp::kEqual: return a == b;
    case NodeOp::kAnd: return a != 0 && b != 0;
    case NodeOp::kOr: return a != 0 || b != 0;
    default: return std::nullopt;
  }
}

// What cuTensorMapEncodeTiled demands; "" if the fields are fit.
std::string Unfit(const MapFields& map) {
  if (map.address % 16 != 0) return "the array is not aligned to 16 bytes";
  for (uint64_t extent : map.extents) {
    if (extent < 1 || extent > uint64_t{1} << 32) return "an extent is not between 1 and 2^32";
  }
  for (uint64_t stride : map.strides) {
    if (stride % 16 != 0 || stride == 0 || stride >= uint64_t{1} << 40) return "a stride is not a positive multiple of 16 bytes below 2^40";
  }
  return "";
}

// More workspace than this is not worth it.
constexpr uint64_t kMostWorkspace = uint64_t{1} << 32;
constexpr uint64_t kMostTurnedRows = uint64_t{1} << 21;  // a grid's second extent ends at 65535 squares

bool MayRepack(const MapFields& map) {
  if (map.extents.size() != 2 || map.strides[0] == 0 || map.strides[0] >= uint64_t{1} << 40) return false;
  for (uint64_t extent : map.extents) {
    if (extent < 1 || extent >= uint64_t{1} << 31) return false;
  }
  if (map.turned && map.extents[1] > kMostTurnedRows) return false;
  return map.packed_stride() <= kMostWorkspace / map.extents[map.turned ? 0 : 1];
}

}  // namespace

Node Slice::Add(NodeDef node) {
  if (InfoOf(node.op).operands == 2) {
    const NodeDef a = nodes[node.a], b = nodes[node.b];
    if (a.op == NodeOp::kConst && b.op == NodeOp::kConst) {
      if (std::optional<int64_t> value = Apply(node.op, a.value, b.value)) return Const(*value);
    }
    const auto is = [](const NodeDef& def, int64_t value) { return def.op == NodeOp::kConst && def.value == value; };
    if (is(b, 0) && (node.op == NodeOp::kAdd || node.op == NodeOp::kSub)) return node.a;
    if (is(a, 0) && node.op == NodeOp::kAdd) return node.b;
    if (is(b, 1) && (node.op == NodeOp::kMul || node.op == NodeOp::kFloorDiv || node.op == NodeOp::kCeilDiv)) return node.a;
    if (is(a, 1) && node.op == NodeOp::kMul) return node.b;
    const bool commutes = node.op == NodeOp::kAdd || node.op == NodeOp::kMul || node.op == NodeOp::kMin || node.op == NodeOp::kMax ||
                          node.op == NodeOp::kEqual || node.op == NodeOp::kAnd || node.op == NodeOp::kOr;
    if (commutes && node.a > node.b) std::swap(node.a, node.b);
    node.value = 0;
  } else {
    node.a = node.b = -1;
  }
  const auto found = std::find(nodes.begin(), nodes.end(), node);
  if (found != nodes.end()) return static_cast<Node>(found - nodes.begin());
  nodes.push_back(node);
  return static_cast<Node>(nodes.size()) - 1;
}

SliceValues Evaluate(const Slice& slice, absl::Span<const int64_t> params, const std::array<int64_t, 3>& grid, const RangeOf& ranges) {
  SliceValues out;
  std::vector<std::optional<int64_t>> values;
  values.reserve(slice.nodes.size());
  for (const NodeDef& node : slice.nodes) {
    std::optional<int64_t> value;
    if (node.op == NodeOp::kConst) value = node.value;
    else if (node.op == NodeOp::kParam && node.value < static_cast<int64_t>(params.size())) value = params[node.value];
    else if (node.op == NodeOp::kGrid) value = grid[node.value];
    else if (node.op == NodeOp::kLeast && ranges != nullptr) value = ranges(static_cast<uint32_t>(node.value)).first;
    else if (node.op == NodeOp::kMost && ranges != nullptr) value = ranges(static_cast<uint32_t>(node.value)).second;
    else if (node.a >= 0 && values[node.a].has_value() && values[node.b].has_value()) value = Apply(node.op, *values[node.a], *values[node.b]);
    values.push_back(value);
  }
  for (const Check& check : slice.checks) {
    if (values[check.holds].value_or(0) != 0) continue;
    out.failed = check.reason;
    return out;
  }
  for (size_t i = 0; i < slice.maps.size(); ++i) {
    const TensorMap& map = slice.maps[i];
    MapFields fields;
    bool known = values[map.address].has_value();
    fields.address = static_cast<uint64_t>(values[map.address].value_or(0));
    fields.dtype = map.dtype;
    fields.swizzle = map.swizzle;
    for (Node extent : map.extents) {
      known &= values[extent].has_value();
      fields.extents.push_back(static_cast<uint64_t>(values[extent].value_or(0)));
    }
    for (Node stride : map.strides) {
      known &= values[stride].has_value();
      fields.strides.push_back(static_cast<uint64_t>(values[stride].value_or(0)));
    }
    for (int64_t size : map.box) fields.box.push_back(static_cast<uint32_t>(size));
    fields.turned = map.turned;
    fields.made = map.made;
    std::string unfit = !known ? "its size leaves 64 bits" : map.turned ? "the array is not read often enough to be turned first" : Unfit(fields);
    if (known && !unfit.empty() && map.repack >= 0 && values[map.repack].value_or(0) != 0 && MayRepack(fields)) {
      fields.repack = true;
      unfit.clear();
    }
    if (!unfit.empty()) {
      out.failed = absl::StrCat("tensor map ", i, ": ", unfit);
      out.maps.clear();
      return out;
    }
    out.maps.push_back(std::move(fields));
  }
  return out;
}

std::string Print(const Slice& slice, absl::Span<const std::string> names) {
  std::string out;
  const auto node_name = [](std::string* text, Node node) { absl::StrAppend(text, "%", node); };
  for (size_t i = 0; i < slice.nodes.size(); ++i) {
    const NodeDef& node = slice.nodes[i];
    absl::StrAppend(&out, "%", i, " = ", InfoOf(node.op).name, " ");
    if (InfoOf(node.op).operands == 2) absl::StrAppend(&out, "%", node.a, ", %", node.b);
    else if (node.op == NodeOp::kParam && node.value < static_cast<int64_t>(names.size())) absl::StrAppend(&out, names[node.value]);
    else absl::StrAppend(&out, node.op == NodeOp::kLeast || node.op == NodeOp::kMost ? "value " : "", node.value);
    absl::StrAppend(&out, "\n");
  }
  for (const Check& check : slice.checks) absl::StrAppend(&out, "check %", check.holds, "  \"", check.reason, "\"\n");
  for (size_t i = 0; i < slice.maps.size(); ++i) {
    const TensorMap& map = slice.maps[i];
    if (map.made) {
      absl::StrAppend(&out, "map ", i, ": ", isa::Name(map.dtype), ", box (", absl::StrJoin(map.box, ", "), "), swizzle ", map.swizzle, ", of an array that the kernel finds\n");
      continue;
    }
    absl::StrAppend(&out, "map ", i, ": %", map.address, ", ", isa::Name(map.dtype), ", extents (", absl::StrJoin(map.extents, ", ", node_name), "), strides (",
                    absl::StrJoin(map.strides, ", ", node_name), "), box (", absl::StrJoin(map.box, ", "), "), swizzle ", map.swizzle, map.turned ? ", of a copy in workspace with its dimensions swapped" : "",
                    map.repack < 0 ? "" : absl::StrCat(map.turned ? ", if %" : ", copied to workspace if not aligned and %", map.repack), "\n");
  }
  return out;
}

// ---- bytes ----
//
//   u32 nodes:  u8 op, then i64 value or u32 a, u32 b
//   u32 checks: u32 node, u32 length, reason
//   u32 maps:   u32 address, u8 dtype, u8 rank, u8 swizzle, rank u32 extents, rank - 1 u32 strides, rank u32 box, u32 1 + repack, u8 1 if turned, 2 if made

namespace {

void PutInt(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }
  bool done() const { return ok_ && bytes_.empty(); }
  void Refuse() { ok_ = false; }
  uint64_t Int(int size) {
    if (!ok_ || bytes_.size() < static_cast<size_t>(size)) {
      ok_ = false;
      return 0;
    }
    uint64_t value = 0;
    for (int i = 0; i < size; ++i) value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
    bytes_.remove_prefix(size);
    return value;
  }
  // A number of things that take at least `each` bytes.
  size_t Count(size_t each) {
    const uint64_t count = Int(4);
    if (count > bytes_.size() / each) ok_ = false;
    return ok_ ? static_cast<size_t>(count) : 0;
  }
  Node At(size_t limit) {
    const uint64_t node = Int(4);
    if (node >= limit) ok_ = false;
    return ok_ ? static_cast<Node>(node) : 0;
  }
  std::string Text() {
    const size_t size = Count(1);
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }

 private:
  absl::string_view bytes_;
  bool ok_ = true;
};

NodeDef ReadNode(Reader& in, size_t index) {
  NodeDef node;
  const uint64_t op = in.Int(1);
  if (op >= kOpCount) {
    in.Refuse();
    return node;
  }
  node.op = static_cast<NodeOp>(op);
  if (InfoOf(node.op).operands == 2) {
    node.a = in.At(index);
    node.b = in.At(index);
    return node;
  }
  node.value = static_cast<int64_t>(in.Int(8));
  if (node.op == NodeOp::kGrid && (node.value < 0 || node.value > 2)) in.Refuse();
  if (node.op == NodeOp::kParam && (node.value < 0 || node.value > 0xffff)) in.Refuse();
  if ((node.op == NodeOp::kLeast || node.op == NodeOp::kMost) && (node.value < 0 || node.value > 0xffffffffll)) in.Refuse();
  return node;
}

TensorMap ReadMap(Reader& in, size_t nodes) {
  TensorMap map;
  map.address = in.At(nodes);
  const std::optional<isa::DType> dtype = isa::DTypeFromCode(static_cast<uint8_t>(in.Int(1)));
  const uint64_t rank = in.Int(1);
  map.swizzle = static_cast<int>(in.Int(1));
  const bool swizzle = map.swizzle == 0 || map.swizzle == 32 || map.swizzle == 64 || map.swizzle == 128;
  if (!dtype.has_value() || rank < 1 || rank > 5 || !swizzle) {
    in.Refuse();
    return map;
  }
  map.dtype = *dtype;
  for (uint64_t i = 0; i < rank; ++i) map.extents.push_back(in.At(nodes));
  for (uint64_t i = 1; i < rank; ++i) map.strides.push_back(in.At(nodes));
  for (uint64_t i = 0; i < rank; ++i) {
    map.box.push_back(static_cast<int64_t>(in.Int(4)));
    if (map.box.back() < 1 || map.box.back() > 256) in.Refuse();
  }
  map.repack = in.At(nodes + 1) - 1;
  const uint64_t kind = in.Int(1);
  if (kind > 2 || (kind == 1 && (rank != 2 || map.repack < 0)) || (kind == 2 && rank != 2)) in.Refuse();
  map.turned = kind == 1;
  map.made = kind == 2;
  return map;
}

}  // namespace

std::string Encode(const Slice& slice) {
  std::string out;
  PutInt(out, slice.nodes.size(), 4);
  for (const NodeDef& node : slice.nodes) {
    PutInt(out, static_cast<uint64_t>(node.op), 1);
    if (InfoOf(node.op).operands == 2) {
      PutInt(out, static_cast<uint64_t>(node.a), 4);
      PutInt(out, static_cast<uint64_t>(node.b), 4);
    } else {
      PutInt(out, static_cast<uint64_t>(node.value), 8);
    }
  }
  PutInt(out, slice.checks.size(), 4);
  for (const Check& check : slice.checks) {
    PutInt(out, static_cast<uint64_t>(check.holds), 4);
    PutInt(out, check.reason.size(), 4);
    out += check.reason;
  }
  PutInt(out, slice.maps.size(), 4);
  for (const TensorMap& map : slice.maps) {
    PutInt(out, static_cast<uint64_t>(map.address), 4);
    PutInt(out, static_cast<uint64_t>(map.dtype), 1);
    PutInt(out, map.extents.size(), 1);
    PutInt(out, static_cast<uint64_t>(map.swizzle), 1);
    for (Node extent : map.extents) PutInt(out, static_cast<uint64_t>(extent), 4);
    for (Node stride : map.strides) PutInt(out, static_cast<uint64_t>(stride), 4);
    for (int64_t size : map.box) PutInt(out, static_cast<uint64_t>(size), 4);
    PutInt(out, static_cast<uint64_t>(map.repack + 1), 4);
    PutInt(out, map.turned ? 1 : map.made ? 2 : 0, 1);
  }
  return out;
}

absl::StatusOr<Slice> Decode(absl::string_view bytes) {
  Reader in(bytes);
  Slice slice;
  const size_t nodes = in.Count(9);
  for (size_t i = 0; i < nodes && in.ok(); ++i) slice.nodes.push_back(ReadNode(in, i));
  const size_t checks = in.Count(8);
  for (size_t i = 0; i < checks && in.ok(); ++i) {
    const Node holds = in.At(nodes);
    slice.checks.push_back({holds, in.Text()});
  }
  const size_t maps = in.Count(20);
  for (size_t i = 0; i < maps && in.ok(); ++i) slice.maps.push_back(ReadMap(in, nodes));
  if (!in.done()) return absl::DataLossError("the launch slice of a cached kernel is damaged");
  return slice;
}

}  // namespace tilevm::launch
