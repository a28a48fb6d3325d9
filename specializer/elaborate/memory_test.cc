// Loads, stores and atomics through pointers.
#include "specializer/elaborate/testing.h"

namespace tilevm::specializer {
namespace {

using isa::Op;
using MemoryTest = ElaborateTest;

TEST_F(MemoryTest, Load) {
  EXPECT_EQ(Run(Op::kLoad, {"ptr<f32>"}), "f32");
  EXPECT_EQ(Run(Op::kLoad, {"ptr<i1>[8]"}), "tile<8xi1>");
  EXPECT_EQ(Run(Op::kLoad, {"ptr<f16>[8,1]", "i1[1,4]"}), "tile<8x4xf16>");
  EXPECT_EQ(Run(Op::kLoad, {"ptr<f16>[8]", "i1[8]", "0.0"}), "tile<8xf16>");
  EXPECT_EQ(Run(Op::kLoad, {"f16[8]"}), "error: load: operand p is tile<8xf16>, wanted a pointer");
  EXPECT_EQ(Run(Op::kLoad, {"ptr<f16>[8]", "", "0.0"}), "error: load: operand other is given without mask");
  EXPECT_EQ(Run(Op::kLoad, {"ptr<f16>[8]", "i32[8]"}), "error: load: operand mask is tile<8xi32>, wanted i1");
  EXPECT_EQ(Run(Op::kLoad, {"ptr<f16>", "i1[8]"}), "error: load: operand mask is tile<8xi1> and operand p is the scalar ptr<f16>");
  EXPECT_EQ(Run(Op::kLoad, {"ptr<f16>[8]", "i1[16]"}), "error: load: operand p is tile<8xptr<f16>>, operand mask is tile<16xi1>: dimension 0 is 8 against 16");
  EXPECT_EQ(Run(Op::kLoad, {"ptr<f16>[8]", "", "", "(0,)"}), "error: load: boundary_check and padding_option are for block pointers; operand p is tile<8xptr<f16>>");
  EXPECT_EQ(Run(Op::kLoad, {"ptr<f16>[8]", "", "", "", "", "'.xx'"}), "error: load: cache_modifier is \".xx\", wanted one of .ca, .cg, .cv");
  Emitted();
  Run(Op::kLoad, {"ptr<f16>[8]", "i1[8]", "1.0", "", "", "'.cg'", "'evict_first'", "True"});
  EXPECT_EQ(Emitted(),
            "%2: f32 = const {value = 1.0}\n%3: f16 = cast %2\n%4: tile<8xf16> = splat %3\n"
            "%5: tile<8xf16> = load %0, %1, %4 {cache_modifier = \".cg\", eviction_policy = \"evict_first\", volatile = true}");
}

TEST_F(MemoryTest, Store) {
  EXPECT_EQ(Run(Op::kStore, {"ptr<f16>[8]", "f32[8]", "i1[8]"}), "none");
  EXPECT_EQ(Run(Op::kStore, {"ptr<f16>[1,2048]", "f32[2048]"}), "error: store: operand value is tile<2048xf16>, its rank differs from that of [1, 2048]");
  EXPECT_EQ(Run(Op::kStore, {"ptr<f16>", "f32[8]"}), "error: store: operand value is tile<8xf32> and operand p is the scalar ptr<f16>");
  EXPECT_EQ(Run(Op::kStore, {"ptr<f16>[8,1]", "f32[8,4]"}), "error: store: operand value is tile<8x4xf16>, it does not stretch to [8, 1] (dimension 1)");
  Emitted();
  Run(Op::kStore, {"ptr<i1>[8]", "i32"});  // a number that is not 0 is stored as 1
  EXPECT_EQ(Emitted(), "%2: i1 = cast %1\n%3: tile<8xi1> = splat %2\nstore %0, %3");
}

TEST_F(MemoryTest, Atomics) {
  EXPECT_EQ(Run(Op::kAtomicAdd, {"ptr<f16>[8]", "f32[8]", "i1[8]"}), "tile<8xf16>");
  EXPECT_EQ(Run(Op::kAtomicMax, {"ptr<f16>[8]", "1.0"}), "error: atomic_max: elements are f16; 16-bit floats are for atomic_add only");
  EXPECT_EQ(Run(Op::kAtomicAdd, {"ptr<i16>[8]", "1"}), "error: atomic_add: elements are i16, wanted 32 or 64 bits");
  EXPECT_EQ(Run(Op::kAtomicAnd, {"ptr<f32>[8]", "1"}), "error: atomic_and: elements are f32, wanted an integer");
  EXPECT_EQ(Run(Op::kAtomicCas, {"ptr<i32>", "0", "1"}), "i32");
  EXPECT_EQ(Run(Op::kAtomicCas, {"ptr<i64>", "0", "1"}), "error: atomic_cas: operand cmp is i32, wanted i64 (nothing is cast or broadcast here)");
  EXPECT_EQ(Run(Op::kAtomicXchg, {"ptr<i32>", "0", "", "'sloppy'"}), "error: atomic_xchg: sem is \"sloppy\", wanted acquire, release, acq_rel or relaxed");
  Emitted();
  Run(Op::kAtomicXchg, {"ptr<i32>", "0", "", "'release'"});
  EXPECT_EQ(Emitted(), "%1: i32 = const {value = 0}\n%2: i32 = atomic_xchg %0, %1 {sem = \"release\", scope = \"gpu\"}");
}

}  // namespace
}  // namespace tilevm::specializer
