#include "specializer/launch/slice.h"

#include <gtest/gtest.h>

#include <limits>

namespace tilevm::launch {
namespace {

Slice Matrix() {  // rows of f16, M x K, stride_am apart
  Slice s;
  const Node address = s.Param(0), m = s.Param(1), k = s.Param(2), rows = s.Param(3), two = s.Const(2), sixteen = s.Const(16), zero = s.Const(0);
  const Node stride = s.Binary(NodeOp::kMul, rows, two), base = s.Binary(NodeOp::kMod, address, sixteen), pitch = s.Binary(NodeOp::kMod, stride, sixteen);
  s.checks.push_back({s.Binary(NodeOp::kEqual, base, zero), "a_ptr is not aligned to 16 bytes"});
  s.checks.push_back({s.Binary(NodeOp::kEqual, pitch, zero), "rows of a_ptr are not a multiple of 16 bytes apart"});
  s.maps.push_back({address, isa::DType::kF16, {k, m}, {stride}, {64, 128}, 128});
  return s;
}

TEST(Slice, EqualNodesAreOneAndConstantsFold) {
  Slice s;
  EXPECT_EQ(s.Param(1), s.Param(1));
  EXPECT_NE(s.Param(1), s.Param(2));
  const Node seven = s.Binary(NodeOp::kAdd, s.Const(3), s.Const(4));
  EXPECT_EQ(seven, s.Const(7));
  EXPECT_EQ(s.Binary(NodeOp::kMul, s.Param(1), s.Const(1)), s.Param(1));
  EXPECT_EQ(s.Binary(NodeOp::kAdd, s.Const(0), s.Param(1)), s.Param(1));
  EXPECT_EQ(s.Binary(NodeOp::kAdd, s.Param(1), s.Param(2)), s.Binary(NodeOp::kAdd, s.Param(2), s.Param(1)));
  EXPECT_NE(s.Binary(NodeOp::kSub, s.Param(1), s.Param(2)), s.Binary(NodeOp::kSub, s.Param(2), s.Param(1)));
  // What does not fit is left to the launch, where it is a check that fails.
  const Node most = s.Const(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(s.nodes[s.Binary(NodeOp::kAdd, most, s.Const(1))].op, NodeOp::kAdd);
}

TEST(Slice, DivisionRoundsAsNamed) {
  const auto value = [](NodeOp op, int64_t a, int64_t b) {
    Slice s;
    return s.nodes[s.Binary(op, s.Const(a), s.Const(b))].value;
  };
  for (int64_t a = -9; a <= 9; ++a) {
    for (int64_t b : {-4, -3, -1, 1, 3, 4}) {
      const int64_t floor = value(NodeOp::kFloorDiv, a, b), ceil = value(NodeOp::kCeilDiv, a, b), mod = value(NodeOp::kMod, a, b);
      EXPECT_EQ(floor * b + mod, a);
      EXPECT_TRUE(mod == 0 || (mod < 0) == (b < 0));
      EXPECT_EQ(ceil, -value(NodeOp::kFloorDiv, -a, b)) << a << "/" << b;
    }
  }
}

TEST(Slice, FieldsOfOneLaunch) {
  const SliceValues values = Evaluate(Matrix(), {0x1000, 300, 200, 208}, {1, 1, 1});
  EXPECT_EQ(values.failed, "");
  ASSERT_EQ(values.maps.size(), 1u);
  EXPECT_EQ(values.maps[0].address, 0x1000u);
  EXPECT_EQ(values.maps[0].extents, (std::vector<uint64_t>{200, 300}));
  EXPECT_EQ(values.maps[0].strides, (std::vector<uint64_t>{416}));
  EXPECT_EQ(values.maps[0].box, (std::vector<uint32_t>{64, 128}));
}

TEST(Slice, AnArrayThatIsCopiedFirst) {
  Slice s = Matrix();
  s.checks.clear();
  s.maps[0].repack = s.Binary(NodeOp::kLess, s.Const(100), s.Param(1));
  const auto map = [&](int64_t address, int64_t rows, int64_t stride) {
    const SliceValues values = Evaluate(s, {address, rows, 201, stride}, {1, 1, 1});
    return values.failed.empty() ? values.maps.at(0) : MapFields();
  };
  EXPECT_FALSE(map(0x1000, 300, 208).repack);
  EXPECT_TRUE(map(0x1000, 300, 201).repack);
  EXPECT_TRUE(map(0x1002, 300, 208).repack);
  EXPECT_EQ(map(0x1002, 300, 208).packed_stride(), 416u);
  EXPECT_EQ(map(0x1002, 300, 208).packed_bytes(), 416u * 300);
  EXPECT_TRUE(map(0x1000, 100, 201).extents.empty());         // not worth it
  EXPECT_TRUE(map(0x1000, int64_t{1} << 30, 201).extents.empty());  // too much
  EXPECT_TRUE(map(0x1000, 300, -201).extents.empty());
  EXPECT_EQ(Encode(*Decode(Encode(s))), Encode(s));

  // With its dimensions swapped: always a copy, whatever the alignment.
  s.maps[0].turned = true;
  EXPECT_TRUE(map(0x1000, 300, 208).repack);
  EXPECT_TRUE(map(0x1000, 300, 208).turned);
  EXPECT_EQ(map(0x1000, 300, 208).extents, (std::vector<uint64_t>{201, 300}));
  EXPECT_EQ(map(0x1000, 300, 208).packed_stride(), 608u);
  EXPECT_EQ(map(0x1000, 300, 208).packed_bytes(), 608u * 201);
  EXPECT_EQ(Evaluate(s, {0x1000, 100, 201, 208}, {1, 1, 1}).failed, "tensor map 0: the array is not read often enough to be turned first");
  EXPECT_EQ(Encode(*Decode(Encode(s))), Encode(s));

  // Of an array that the kernel finds: whatever it says of one is not used.
  s.maps[0].turned = false;
  s.maps[0].made = true;
  EXPECT_TRUE(map(0x1000, 300, 208).made);
  EXPECT_EQ(Encode(*Decode(Encode(s))), Encode(s));
  EXPECT_NE(Print(s, {}).find("box (64, 128), swizzle 128, of an array that the kernel finds\n"), std::string::npos) << Print(s, {});
}

TEST(Slice, WhatStandsAgainstIt) {
  EXPECT_EQ(Evaluate(Matrix(), {0x1008, 300, 200, 208}, {1, 1, 1}).failed, "a_ptr is not aligned to 16 bytes");
  EXPECT_EQ(Evaluate(Matrix(), {0x1000, 300, 200, 204}, {1, 1, 1}).failed, "rows of a_ptr are not a multiple of 16 bytes apart");
  EXPECT_EQ(Evaluate(Matrix(), {0x1000, 0, 200, 208}, {1, 1, 1}).failed, "tensor map 0: an extent is not between 1 and 2^32");
  EXPECT_EQ(Evaluate(Matrix(), {0x1000, 3, 200, -208}, {1, 1, 1}).failed, "tensor map 0: a stride is not a positive multiple of 16 bytes below 2^40");
  // A stride of 2^63: the check cannot be computed.
  EXPECT_EQ(Evaluate(Matrix(), {0x1000, 3, 200, int64_t{1} << 62}, {1, 1, 1}).failed, "rows of a_ptr are not a multiple of 16 bytes apart");
  // An argument that is not there.
  EXPECT_NE(Evaluate(Matrix(), {0x1000}, {1, 1, 1}).failed, "");
  EXPECT_TRUE(Evaluate(Slice(), {}, {1, 1, 1}).failed.empty());
}

TEST(Slice, RangesOfValues) {
  Slice s;
  const Node most = s.Add({NodeOp::kMost, 7}), least = s.Add({NodeOp::kLeast, 7}), bound = s.Const(100);
  s.checks.push_back({s.Binary(NodeOp::kLess, most, bound), "too large"});
  s.checks.push_back({s.Binary(NodeOp::kLess, s.Const(-1), least), "too small"});
  const auto between = [&](int64_t lo, int64_t hi) { return Evaluate(s, {}, {1, 1, 1}, [=](uint32_t id) { return id == 7 ? std::make_pair(lo, hi) : std::make_pair(int64_t{0}, int64_t{0}); }).failed; };
  EXPECT_EQ(between(0, 99), "");
  EXPECT_EQ(between(0, 100), "too large");
  EXPECT_EQ(between(-1, 99), "too small");
  EXPECT_EQ(Evaluate(s, {}, {1, 1, 1}).failed, "too large");  // nobody knows
}

TEST(Slice, Text) {
  EXPECT_EQ(Print(Matrix(), {"a_ptr", "M", "K", "stride_am"}),
            "%0 = param a_ptr\n%1 = param M\n%2 = param K\n%3 = param stride_am\n%4 = const 2\n%5 = const 16\n%6 = const 0\n%7 = mul %3, %4\n"
            "%8 = mod %0, %5\n%9 = mod %7, %5\n%10 = equal %6, %8\n%11 = equal %6, %9\n"
            "check %10  \"a_ptr is not aligned to 16 bytes\"\ncheck %11  \"rows of a_ptr are not a multiple of 16 bytes apart\"\n"
            "map 0: %0, f16, extents (%2, %1), strides (%7), box (64, 128), swizzle 128\n");
}

TEST(Slice, BytesRoundTripAndDamageIsAnError) {
  Slice s = Matrix();
  s.Add({NodeOp::kGrid, 2});
  const std::string bytes = Encode(s);
  absl::StatusOr<Slice> read = Decode(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Encode(*read), bytes);
  EXPECT_EQ(Print(*read, {}), Print(s, {}));
  for (size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_EQ(Decode(bytes.substr(0, cut)).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(Decode(bytes + "x").ok());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int value : {0x00, 0x7f, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(value);
      absl::StatusOr<Slice> other = Decode(damaged);
      // What passes can be evaluated without reaching outside of anything.
      if (other.ok()) Evaluate(*other, {0x1000, 300, 200, 208}, {1, 1, 1});
    }
  }
}

}  // namespace
}  // namespace tilevm::launch
