#include "device/all.cuh"
using namespace tv;
struct L0 {  // [1024] reg 64 128 256 512 lane 1 2 4 8 16 warp 32
  static constexpr int rank = 1, regs = 16, reg_bits = 4;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[4] = {64, 128, 256, 512};
  static constexpr int shift[1] = {0};
  static constexpr u32 mask[1] = {1023};
  static TV_DEV u32 thread() { return (threadIdx.x & 63); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + (((r) << 6)); }
};
struct R1 {
  static TV_DEV constexpr int slot(int r) { return 0; }
  static constexpr u32 lanes = 31, warps = 1, warp_count = 2;
};
struct L2 {  // [] reg  lane 0 0 0 0 0 warp 0
  static constexpr int rank = 0, regs = 1, reg_bits = 0;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[1] = {0};
  static constexpr int shift[1] = {0};
  static constexpr u32 mask[1] = {0};
  static TV_DEV u32 thread() { return 0; }
  static TV_DEV u32 at(u32 thread, int r) { return thread + (0); }
};
extern "C" __global__ void __launch_bounds__(64) softmax_kernel(f32* output_ptr, f32* input_ptr, i32 input_row_stride, i32 output_row_stride, i32 n_cols) {
  const u32 thread_L0 = L0::thread();
#line 14 "f0"
  const i32 row_idx = program_id<0>();
#line 15 "f0"
  const i32 v6 = mul(row_idx, input_row_stride);
  f32* const row_start_ptr = ptr_add(input_ptr, v6);
#line 21 "f0"
  f32 v13 = constant<f32>(0xff800000u /* -inf */);
  Tile<f32, L0> row;
  #pragma unroll
  for (int r = 0; r < 16; r += 1) {
#line 17 "f0"
    const i32 col_offsets = static_cast<i32>(L0::at(thread_L0, r));
#line 18 "f0"
    f32* const input_ptrs = ptr_add(row_start_ptr, col_offsets);
#line 19 "f0"
    const bool mask = lt(col_offsets, n_cols);
#line 21 "f0"
    load<1, 0, 0>(row.v + r, input_ptrs, mask, v13);
  }
#line 23 "f0"
  auto reduced0 = reduce<L2, R1, false>(0, row, MaxOp{});
  auto row_max = scalar_of(reduced0);
  Tile<f32, L0> numerator;
  Quotients<true, false> quotients1;
  #pragma unroll
  for (int r = 0; r < 16; r += 1) {
#line 24 "f0"
    const f32 row_18 = sub(row.v[r], row_max);
#line 26 "f0"
    numerator.v[r] = tv::exp(row_18);
    quotients1.look(numerator.v[r]);
  }
#line 27 "f0"
  auto reduced2 = reduce<L2, R1, false>(4096, numerator, AddOp{});
  auto denominator = scalar_of(reduced2);
#line 30 "f0"
  const i32 v23 = mul(row_idx, output_row_stride);
  f32* const out_start_ptr = ptr_add(output_ptr, v23);
#line 31 "f0"
  Tile<f32, L0> softmax_output;
  quotients1.by(denominator);
  if (quotients1.ordinary()) {
    const auto inverse3 = rounded_reciprocal(to_f32(denominator));
    #pragma unroll
    for (int r = 0; r < 16; r += 1) {
#line 29 "f0"
      softmax_output.v[r] = quotient(numerator.v[r], denominator, inverse3);
    }
  } else {
    const auto inverse4 = reciprocal(denominator);
    #pragma unroll
    for (int r = 0; r < 16; r += 1) {
      softmax_output.v[r] = divide_by(numerator.v[r], inverse4);
    }
  }
  #pragma unroll
  for (int r = 0; r < 16; r += 1) {
#line 17 "f0"
    const i32 col_offsets = static_cast<i32>(L0::at(thread_L0, r));
#line 31 "f0"
    f32* const v26 = ptr_add(out_start_ptr, col_offsets);
#line 19 "f0"
    const bool mask = lt(col_offsets, n_cols);
#line 31 "f0"
    store<1, 0, 0>(v26, softmax_output.v + r, mask);
  }
#line 7 "f0"
}
