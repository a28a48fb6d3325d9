#include "specializer/layout/linear_layout.h"

#include <algorithm>
#include <array>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tilevm::layout {
namespace {

// First bit of each axis within an index: axis a has bits [FirstBit(a), FirstBit(a) + log2(extent)).
std::vector<int> FirstBits(const isa::Shape& shape) {
  std::vector<int> first(shape.size(), 0);
  int bit = 0;
  for (int axis = static_cast<int>(shape.size()) - 1; axis >= 0; --axis) {
    first[axis] = bit;
    bit += Log2(shape[axis]);
  }
  return first;
}

uint32_t XorOf(const Bases& bases, uint32_t bits) {
  uint32_t out = 0;
  for (size_t i = 0; i < bases.size(); ++i) {
    if (bits >> i & 1) out ^= bases[i];
  }
  return out;
}

// A set of independent vectors, each with the combination of inputs (bits of a 64-bit number) that gives it, kept in echelon form.
class Span {
 public:
  // Adds vector = the sum of inputs `combination`. False if it depends on what is there; then *null_combination gives zero.
  bool Add(uint32_t vector, uint64_t combination) {
    Reduce(vector, combination);
    if (vector == 0) return false;
    rows_.push_back({vector, combination});
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.vector > b.vector; });
    return true;
  }
  // The combination of inputs that gives the vector, if any.
  std::optional<uint64_t> Solve(uint32_t vector) const {
    uint64_t combination = 0;
    Reduce(vector, combination);
    if (vector != 0) return std::nullopt;
    return combination;
  }
  size_t rank() const { return rows_.size(); }

 private:
  struct Row {
    uint32_t vector;
    uint64_t combination;
  };
  void Reduce(uint32_t& vector, uint64_t& combination) const {
    for (const Row& row : rows_) {
      if ((vector ^ row.vector) < vector) {
        vector ^= row.vector;
        combination ^= row.combination;
      }
    }
  }
  std::vector<Row> rows_;  // decreasing, with distinct leading bits
};

constexpr int kLaneShift = 24, kWarpShift = 32;  // of a combination: registers below, then lanes, then warps

uint64_t Combination(int shift, size_t i) { return uint64_t{1} << (shift + static_cast<int>(i)); }

Place PlaceOfCombination(uint64_t combination) {
  return {static_cast<uint32_t>(combination & 0xffffff), static_cast<uint32_t>(combination >> kLaneShift & 0xff),
          static_cast<uint32_t>(combination >> kWarpShift)};
}

void AddAll(Span& span, const Bases& bases, int shift) {
  for (size_t i = 0; i < bases.size(); ++i) span.Add(bases[i], Combination(shift, i));
}

// Bits of `bases` that repeat: their vector depends on the vectors of `before` and of lower bits.
uint32_t Dependent(Span span, const Bases& bases) {
  uint32_t out = 0;
  for (size_t i = 0; i < bases.size(); ++i) {
    if (!span.Add(bases[i], 0)) out |= 1u << i;
  }
  return out;
}

// Hands out the index bits of each axis from the smallest up.
class BitTaker {
 public:
  explicit BitTaker(const isa::Shape& shape) {
    for (int bit : FirstBits(shape)) first_.push_back(bit);
    for (int64_t extent : shape) size_.push_back(Log2(extent));
    taken_.resize(shape.size(), 0);
  }
  // The next bit of the axis; 0 (replication) if it has none left.
  Basis Take(int axis) { return Left(axis) > 0 ? Basis{1} << (first_[axis] + taken_[axis]++) : 0; }
  int Left(int axis) const { return size_[axis] - taken_[axis]; }

 private:
  std::vector<int> first_, size_, taken_;
};

struct MmaAxes {
  int m = -1, n = -1, k = -1, batch = -1;
};

// The leading axis of a batched tile repeats in registers.
MmaAxes AxesOf(const isa::Shape& shape, char rows, char cols) {
  const int rank = static_cast<int>(shape.size());
  MmaAxes axes;
  (rows == 'm' ? axes.m : axes.k) = rank - 2;
  (cols == 'n' ? axes.n : axes.k) = rank - 1;
  if (rank == 3) axes.batch = 0;
  return axes;
}

void Push(Bases& bases, Basis basis) {
  if (basis != 0) bases.push_back(basis);
}

}  // namespace

int Log2(int64_t n) {
  int log = 0;
  while ((int64_t{1} << log) < n) ++log;
  return log;
}

LinearLayout::LinearLayout(isa::Shape shape, Bases reg, Bases lane, Bases warp)
    : shape_(std::move(shape)), reg_(std::move(reg)), lane_(std::move(lane)), warp_(std::move(warp)), index_bits_(Log2(isa::ElemCount(shape_))) {}

LinearLayout LinearLayout::Blocked(const isa::Shape& shape, absl::Span<const int64_t> size_per_thread, absl::Span<const int64_t> lanes,
                                   absl::Span<const int64_t> warps, absl::Span<const int> order) {
  BitTaker bits(shape);
  Bases reg, lane, warp;
  for (int axis : order) {
    for (int i = Log2(size_per_thread[axis]); i > 0 && bits.Left(axis) > 0; --i) reg.push_back(bits.Take(axis));
  }
  for (int axis : order) {
    for (int i = Log2(lanes[axis]); i > 0; --i) lane.push_back(bits.Take(axis));
  }
  for (int axis : order) {
    for (int i = Log2(warps[axis]); i > 0; --i) warp.push_back(bits.Take(axis));
  }
  for (int axis : order) {
    while (bits.Left(axis) > 0) reg.push_back(bits.Take(axis));
  }
  return LinearLayout(shape, reg, lane, warp);
}

LinearLayout LinearLayout::BlockedByOrder(const isa::Shape& shape, int64_t vector, int num_warps, absl::Span<const int> order) {
  const int rank = static_cast<int>(shape.size());
  absl::InlinedVector<int64_t, 4> size(rank, 1), lanes(rank, 1), warps(rank, 1);
  int64_t lanes_left = int64_t{1} << kLaneBits, warps_left = num_warps;
  for (int i = 0; i < rank; ++i) {
    const int axis = order[i];
    int64_t extent = shape[axis];
    if (i == 0) size[axis] = std::min(vector, extent);
    extent /= size[axis];
    lanes[axis] = i == rank - 1 ? lanes_left : std::min(extent, lanes_left);
    lanes_left /= lanes[axis];
    extent = std::max<int64_t>(1, extent / lanes[axis]);
    warps[axis] = i == rank - 1 ? warps_left : std::min(extent, warps_left);
    warps_left /= warps[axis];
  }
  return Blocked(shape, size, lanes, warps, order);
}

LinearLayout LinearLayout::ThreadTiles(const isa::Shape& shape, int num_warps, bool columns_apart) {
  const MmaAxes axes = AxesOf(shape, 'm', 'n');
  BitTaker bits(shape);
  Bases reg, lane, warp;
  for (int i = 0; i < 2 && !columns_apart; ++i) Push(reg, bits.Take(axes.n));
  for (int i = 0; i < 3 && bits.Left(axes.n) > 0; ++i) lane.push_back(bits.Take(axes.n));
  while (lane.size() < kLaneBits) lane.push_back(bits.Take(axes.m));
  for (int i = Log2(num_warps); i > 0; --i) {
    const bool rows = bits.Left(axes.n) == 0 || bits.Left(axes.m) >= bits.Left(axes.n) + (columns_apart ? 0 : 2);
    warp.push_back(bits.Take(rows ? axes.m : axes.n));
  }
  for (int axis : {axes.n, axes.m}) {
    while (bits.Left(axis) > 0) reg.push_back(bits.Take(axis));
  }
  return LinearLayout(shape, reg, lane, warp);
}

LinearLayout LinearLayout::MmaAccumulator(const isa::Shape& shape, int warps_m, int warps_n) {
  const MmaAxes axes = AxesOf(shape, 'm', 'n');
  BitTaker bits(shape);
  Bases reg, lane, warp;
  Push(reg, bits.Take(axes.n));                                                  // columns 0, 1
  for (int i = 0; i < 2; ++i) lane.push_back(bits.Take(axes.n));                 // columns 2, 4
  for (int i = 0; i < 3; ++i) lane.push_back(bits.Take(axes.m));                 // rows 1, 2, 4
  Push(reg, bits.Take(axes.m));                                                  // row 8
  if (bits.Left(axes.n) > Log2(warps_n)) Push(reg, bits.Take(axes.n));           // column 8: two instructions side by side
  for (int i = Log2(warps_m); i > 0; --i) warp.push_back(bits.Take(axes.m));
  for (int i = Log2(warps_n); i > 0; --i) warp.push_back(bits.Take(axes.n));
  for (int axis : {axes.n, axes.m}) {
    while (bits.Left(axis) > 0) reg.push_back(bits.Take(axis));
  }
  if (axes.batch >= 0) {
    while (bits.Left(axes.batch) > 0) reg.push_back(bits.Take(axes.batch));
  }
  return LinearLayout(shape, reg, lane, warp);
}

LinearLayout LinearLayout::MmaOperandA(const isa::Shape& shape, int elem_bits, int warps_m, int warps_n) {
  const MmaAxes axes = AxesOf(shape, 'm', 'k');
  BitTaker bits(shape);
  Bases reg, lane, warp;
  for (int packed = 32 / std::min(elem_bits, 32); packed > 1; packed /= 2) Push(reg, bits.Take(axes.k));
  for (int i = 0; i < 2; ++i) lane.push_back(bits.Take(axes.k));
  for (int i = 0; i < 3; ++i) lane.push_back(bits.Take(axes.m));
  Push(reg, bits.Take(axes.m));                        // row 8
  if (elem_bits < 64) Push(reg, bits.Take(axes.k));    // the upper half of k
  for (int i = Log2(warps_m); i > 0; --i) warp.push_back(bits.Take(axes.m));
  for (int i = Log2(warps_n); i > 0; --i) warp.push_back(0);
  for (int axis : {axes.k, axes.m}) {
    while (bits.Left(axis) > 0) reg.push_back(bits.Take(axis));
  }
  if (axes.batch >= 0) {
    while (bits.Left(axes.batch) > 0) reg.push_back(bits.Take(axes.batch));
  }
  return LinearLayout(shape, reg, lane, warp);
}

LinearLayout LinearLayout::MmaOperandB(const isa::Shape& shape, int elem_bits, int warps_m, int warps_n) {
  const MmaAxes axes = AxesOf(shape, 'k', 'n');
  BitTaker bits(shape);
  Bases reg, lane, warp;
  for (int packed = 32 / std::min(elem_bits, 32); packed > 1; packed /= 2) Push(reg, bits.Take(axes.k));
  for (int i = 0; i < 2; ++i) lane.push_back(bits.Take(axes.k));
  for (int i = 0; i < 3; ++i) lane.push_back(bits.Take(axes.n));
  if (elem_bits < 64) Push(reg, bits.Take(axes.k));
  if (bits.Left(axes.n) > Log2(warps_n)) Push(reg, bits.Take(axes.n));  // column 8, as in the accumulator
  for (int i = Log2(warps_m); i > 0; --i) warp.push_back(0);
  for (int i = Log2(warps_n); i > 0; --i) warp.push_back(bits.Take(axes.n));
  for (int axis : {axes.k, axes.n}) {
    while (bits.Left(axis) > 0) reg.push_back(bits.Take(axis));
  }
  if (axes.batch >= 0) {
    while (bits.Left(axes.batch) > 0) reg.push_back(bits.Take(axes.batch));
  }
  return LinearLayout(shape, reg, lane, warp);
}

Basis LinearLayout::IndexOf(const Place& place) const { return XorOf(reg_, place.reg) ^ XorOf(lane_, place.lane) ^ XorOf(warp_, place.warp); }

absl::InlinedVector<int64_t, 4> LinearLayout::Coordinates(Basis index) const {
  const auto first = FirstBits(shape_);
  absl::InlinedVector<int64_t, 4> out;
  for (size_t axis = 0; axis < shape_.size(); ++axis) out.push_back(index >> first[axis] & (shape_[axis] - 1));
  return out;
}

Place LinearLayout::PlaceOf(Basis index) const {
  Span span;
  AddAll(span, reg_, 0);
  AddAll(span, lane_, kLaneShift);
  AddAll(span, warp_, kWarpShift);
  return PlaceOfCombination(span.Solve(index).value_or(0));
}

bool LinearLayout::IsSurjective() const {
  Span span;
  AddAll(span, reg_, 0);
  AddAll(span, lane_, kLaneShift);
  AddAll(span, warp_, kWarpShift);
  return static_cast<int>(span.rank()) == index_bits_;
}

bool LinearLayout::IsInjective() const { return ReplicatedRegisters() == 0 && ReplicatedLanes() == 0 && ReplicatedWarps() == 0; }

uint32_t LinearLayout::ReplicatedRegisters() const { return Dependent(Span(), reg_); }

uint32_t LinearLayout::ReplicatedLanes() const {
  Span span;
  AddAll(span, reg_, 0);
  return Dependent(span, lane_);
}

uint32_t LinearLayout::ReplicatedWarps() const {
  Span span;
  AddAll(span, reg_, 0);
  AddAll(span, lane_, kLaneShift);
  return Dependent(span, warp_);
}

int64_t LinearLayout::ContiguousElements(int axis) const {
  const int first = FirstBits(shape_)[axis];
  int64_t count = 1;
  for (size_t i = 0; i < reg_.size() && reg_[i] == (Basis{1} << (first + static_cast<int>(i))) && count < shape_[axis]; ++i) count *= 2;
  return count;
}

LinearLayout LinearLayout::Reshaped(isa::Shape shape) const { return LinearLayout(std::move(shape), reg_, lane_, warp_); }

LinearLayout LinearLayout::Permuted(absl::Span<const int64_t> dims) const {
  isa::Shape shape;
  for (int64_t dim : dims) shape.push_back(shape_[dim]);
  const auto from = FirstBits(shape_), to = FirstBits(shape);
  auto map = [&](const Bases& bases) {
    Bases out;
    for (Basis basis : bases) {
      Basis mapped = 0;
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        mapped |= (basis >> from[dims[axis]] & static_cast<Basis>(shape[axis] - 1)) << to[axis];
      }
      out.push_back(mapped);
    }
    return out;
  };
  return LinearLayout(shape, map(reg_), map(lane_), map(warp_));
}

LinearLayout LinearLayout::Expanded(int axis) const {
  isa::Shape shape = shape_;
  shape.insert(shape.begin() + axis, 1);
  return Reshaped(std::move(shape));
}

LinearLayout LinearLayout::Sliced(int axis) const {
  const int first = FirstBits(shape_)[axis];
  const Basis low = (Basis{1} << first) - 1;
  const int width = Log2(shape_[axis]);
  isa::Shape shape = shape_;
  shape.erase(shape.begin() + axis);
  auto map = [&](const Bases& bases, bool keep_zero) {
    Bases out;
    for (Basis basis : bases) {
      const Basis mapped = (basis & low) | (basis >> (first + width) << first);
      if (mapped != 0 || keep_zero) out.push_back(mapped);
    }
    return out;
  };
  // Registers that only repeat an element are dropped (a basis of zero; for linear combinations the dependent ones).
  Bases reg;
  Span span;
  for (Basis basis : map(reg_, false)) {
    if (span.Add(basis, 0)) reg.push_back(basis);
  }
  return LinearLayout(shape, reg, map(lane_, true), map(warp_, true));
}

LinearLayout LinearLayout::Broadcasted(const isa::Shape& shape) const {
  const auto from = FirstBits(shape_), to = FirstBits(shape);
  auto map = [&](const Bases& bases) {
    Bases out;
    for (Basis basis : bases) {
      Basis mapped = 0;
      for (size_t axis = 0; axis < shape_.size(); ++axis) mapped |= (basis >> from[axis] & static_cast<Basis>(shape_[axis] - 1)) << to[axis];
      out.push_back(mapped);
    }
    return out;
  };
  Bases reg = map(reg_);
  for (int axis = static_cast<int>(shape.size()) - 1; axis >= 0; --axis) {
    if (shape_[axis] == shape[axis]) continue;
    for (int i = 0; i < Log2(shape[axis]); ++i) reg.push_back(Basis{1} << (to[axis] + i));
  }
  return LinearLayout(shape, reg, map(lane_), map(warp_));
}

LinearLayout LinearLayout::Joined() const {
  isa::Shape shape = shape_;
  shape.push_back(2);
  auto map = [](const Bases& bases) {
    Bases out;
    for (Basis basis : bases) out.push_back(basis << 1);
    return out;
  };
  Bases reg = map(reg_);
  reg.insert(reg.begin(), Basis{1});
  return LinearLayout(std::move(shape), reg, map(lane_), map(warp_));
}

LinearLayout LinearLayout::Doubled(int axis) const {
  const int bit = FirstBits(shape_)[axis] + Log2(shape_[axis]);
  isa::Shape shape = shape_;
  shape[axis] *= 2;
  auto map = [&](const Bases& bases) {
    Bases out;
    for (Basis basis : bases) out.push_back((basis & ((Basis{1} << bit) - 1)) | (basis >> bit << (bit + 1)));
    return out;
  };
  Bases reg = map(reg_);
  reg.push_back(Basis{1} << bit);
  return LinearLayout(std::move(shape), reg, map(lane_), map(warp_));
}

LinearLayout LinearLayout::InWarps(int count) const {
  Bases reg = reg_, warp = warp_;
  for (size_t bit = static_cast<size_t>(Log2(count)); bit < warp_.size(); ++bit) {
    if (warp_[bit] != 0) reg.push_back(warp_[bit]);
  }
  warp.resize(std::min(warp.size(), static_cast<size_t>(Log2(count))));
  return LinearLayout(shape_, std::move(reg), lane_, std::move(warp));
}

std::optional<LinearLayout> LinearLayout::Halved() const {
  auto odd = [](Basis basis) { return (basis & 1) != 0; };
  const auto half = std::find(reg_.begin(), reg_.end(), Basis{1});
  if (half == reg_.end() || std::count_if(reg_.begin(), reg_.end(), odd) != 1) return std::nullopt;
  if (std::any_of(lane_.begin(), lane_.end(), odd) || std::any_of(warp_.begin(), warp_.end(), odd)) return std::nullopt;
  auto map = [](const Bases& bases) {
    Bases out;
    for (Basis basis : bases) out.push_back(basis >> 1);
    return out;
  };
  Bases reg;
  for (Basis basis : reg_) {
    if (basis != 1) reg.push_back(basis >> 1);
  }
  isa::Shape shape = shape_;
  shape.pop_back();
  return LinearLayout(std::move(shape), reg, map(lane_), map(warp_));
}

std::optional<std::vector<LinearLayout::PlaceBit>> LinearLayout::AxisBits(int axis) const {
  for (const Bases* bases : {&reg_, &lane_, &warp_}) {
    for (Basis basis : *bases) {
      if ((basis & (basis - 1)) != 0) return std::nullopt;
    }
  }
  std::vector<PlaceBit> out;
  const int first = FirstBits(shape_)[axis];
  for (int bit = first; bit < first + Log2(shape_[axis]); ++bit) {
    const Place place = PlaceOf(Basis{1} << bit);
    out.push_back({place.reg, place.lane, place.warp});
  }
  return out;
}

LinearLayout LinearLayout::OperandOfBroadcast(const isa::Shape& operand_shape) const {
  const auto from = FirstBits(shape_), to = FirstBits(operand_shape);
  auto map = [&](const Bases& bases) {
    Bases out;
    for (Basis basis : bases) {
      Basis mapped = 0;
      for (size_t axis = 0; axis < shape_.size(); ++axis) {
        mapped |= (basis >> from[axis] & static_cast<Basis>(operand_shape[axis] - 1)) << to[axis];
      }
      out.push_back(mapped);
    }
    return out;
  };
  Bases reg;
  Span span;
  for (Basis basis : map(reg_)) {
    if (span.Add(basis, 0)) reg.push_back(basis);
  }
  return LinearLayout(operand_shape, reg, map(lane_), map(warp_));
}

std::string LinearLayout::ToString() const {
  return absl::StrCat(isa::ShapeToString(shape_), " reg ", absl::StrJoin(reg_, " "), " lane ", absl::StrJoin(lane_, " "), " warp ",
                      absl::StrJoin(warp_, " "));
}

Conversion Convert(const LinearLayout& from, const LinearLayout& to) {
  Conversion out;
  if (from == to) return out;
  Span registers, lanes;
  AddAll(registers, from.reg(), 0);
  AddAll(lanes, from.reg(), 0);
  AddAll(lanes, from.lane(), kLaneShift);
  const bool same_warps = from.warp() == to.warp();
  auto all_in = [](const Span& span, const Bases& bases) {
    return std::all_of(bases.begin(), bases.end(), [&](Basis basis) { return span.Solve(basis).has_value(); });
  };

  if (same_warps && from.lane() == to.lane() && all_in(registers, to.reg())) {
    out.kind = Conversion::Kind::kRegisters;
    for (int64_t r = 0; r < to.register_count(); ++r) {
      out.source.push_back(PlaceOfCombination(*registers.Solve(XorOf(to.reg(), static_cast<uint32_t>(r)))).reg);
    }
    return out;
  }
  if (same_warps && from.lane().size() == to.lane().size() && all_in(lanes, to.reg()) && all_in(lanes, to.lane())) {
    out.kind = Conversion::Kind::kShuffle;
    Span choices;
    for (Basis basis : to.lane()) {
      const Place place = PlaceOfCombination(*lanes.Solve(basis));
      out.lane_from_lane.push_back(place.lane);
      out.reg_from_lane.push_back(place.reg);
      choices.Add(place.reg, 0);
    }
    for (int64_t r = 0; r < to.register_count(); ++r) {
      const Place place = PlaceOfCombination(*lanes.Solve(XorOf(to.reg(), static_cast<uint32_t>(r))));
      out.source.push_back(place.reg);
      out.lane_from_reg.push_back(place.lane);
    }
    // Each independent choice of register doubles the shuffles; beyond four of them shared memory is cheaper.
    if (choices.rank() <= 2) return out;
    out = Conversion();
  }
  out.kind = Conversion::Kind::kShared;
  return out;
}

uint32_t SharedLayout::OffsetOf(Basis index) const {
  uint32_t offset = 0;
  for (size_t i = 0; i < offset_of_bit.size(); ++i) {
    if (index >> i & 1) offset ^= offset_of_bit[i];
  }
  return offset;
}

int BankConflicts(const LinearLayout& access, const SharedLayout& shared, int elem_bytes) {
  const int bytes = shared.vector * elem_bytes;
  // A warp's access is split into phases of as many lanes as move 128 bytes.
  const int lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  int worst = 1;
  for (int phase = 0; phase < 32; phase += lanes) {
    std::array<std::set<uint32_t>, 32> words;
    for (int lane = phase; lane < phase + lanes; ++lane) {
      const uint32_t byte = shared.OffsetOf(access.IndexOf({0, static_cast<uint32_t>(lane), 0})) * elem_bytes;
      for (int b = 0; b < std::max(bytes, 1); b += 4) words[(byte + b) / 4 % 32].insert((byte + b) / 4);
    }
    for (const auto& bank : words) worst = std::max(worst, static_cast<int>(bank.size()));
  }
  return worst;
}

SharedLayout SwizzledRows(const isa::Shape& shape, int axis, int elem_bytes) {
  const auto first = FirstBits(shape);
  const int64_t rows = shape[1 - axis];
  const int row_bits = Log2(rows), panel_bits = std::min(Log2(shape[axis]), Log2(128 / elem_bytes));  // elements of a row of a panel
  const int unit_bits = Log2(16 / elem_bytes), units = panel_bits - unit_bits;                        // log2 of the units of such a row
  const int shift = 3 - units;
  SharedLayout shared;
  shared.vector = 1 << unit_bits;
  shared.offset_of_bit.assign(Log2(isa::ElemCount(shape)), 0);
  for (int bit = 0; bit < Log2(shape[axis]); ++bit) {
    shared.offset_of_bit[first[axis] + bit] = Basis{1} << (bit < panel_bits ? bit : bit + row_bits);
  }
  for (int bit = 0; bit < row_bits; ++bit) {
    Basis offset = Basis{1} << (panel_bits + bit);
    if (bit >= shift && bit < shift + units) offset |= Basis{1} << (unit_bits + bit - shift);
    shared.offset_of_bit[first[1 - axis] + bit] = offset;
  }
  return shared;
}

SharedLayout PlainRow(int64_t elems) {
  SharedLayout shared;
  for (int bit = 0; bit < Log2(elems); ++bit) shared.offset_of_bit.push_back(Basis{1} << bit);
  return shared;
}

SharedLayout ChooseShared(const LinearLayout& write, const LinearLayout& read, int elem_bytes) {
  SharedLayout shared;
  const int bits = write.index_bits();
  // Registers that both sides hold next to each other move together, up to 16 bytes.
  std::vector<int> order;
  while (order.size() < write.reg().size() && order.size() < read.reg().size()) {
    const Basis basis = write.reg()[order.size()];
    if (basis != read.reg()[order.size()] || basis == 0 || (basis & (basis - 1)) != 0 || shared.vector * elem_bytes >= 16) break;
    order.push_back(Log2(basis));
    shared.vector *= 2;
  }
  const size_t vector_bits = order.size();
  for (int bit = 0; bit < bits; ++bit) {
    if (std::find(order.begin(), order.end(), bit) == order.end()) order.push_back(bit);
  }
  shared.offset_of_bit.assign(bits, 0);
  for (int position = 0; position < bits; ++position) shared.offset_of_bit[order[position]] = Basis{1} << position;

  // Greedy: xor a higher offset bit into a bank bit while that lessens the conflicts. The map stays a bijection: the higher bit keeps its own place.
  auto cost = [&](const SharedLayout& s) { return BankConflicts(write, s, elem_bytes) + BankConflicts(read, s, elem_bytes); };
  const int last_bank_bit = std::max(0, Log2(128 / elem_bytes));
  int best = cost(shared);
  for (bool better = true; better && best > 2;) {
    better = false;
    SharedLayout choice = shared;
    for (int high = 0; high < bits; ++high) {
      for (int bank = static_cast<int>(vector_bits); bank < std::min(high, last_bank_bit); ++bank) {
        SharedLayout tried = shared;
        tried.offset_of_bit[order[high]] ^= Basis{1} << bank;
        if (int c = cost(tried); c < best) {
          best = c;
          choice = tried;
          better = true;
        }
      }
    }
    shared = choice;
  }
  shared.write_conflicts = BankConflicts(write, shared, elem_bytes);
  shared.read_conflicts = BankConflicts(read, shared, elem_bytes);
  return shared;
}

}  // namespace tilevm::layout
