#include "device/all.cuh"
using namespace tv;
struct L0 {  // [1024] reg 1 2 4 512 lane 8 16 32 64 128 warp 256
  static constexpr int rank = 1, regs = 16, reg_bits = 4;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[4] = {1, 2, 4, 512};
  static constexpr int shift[1] = {0};
  static constexpr u32 mask[1] = {1023};
  static TV_DEV u32 thread() { return ((threadIdx.x & 63) << 3); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + ((r & 7) | ((r >> 3) << 9)); }
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
extern "C" __global__ void __launch_bounds__(64) layer_norm_forward(f16* x_ptr, f16* y_ptr, f16* weight_ptr, f16* bias_ptr, f32* mean_ptr, f32* rstd_ptr, i32 row_stride, i32 n_cols, f32 eps) {
  const u32 thread_L0 = L0::thread();
#line 13 "f0"
  const i32 row = program_id<0>();
#line 14 "f0"
  const i32 v10 = mul(row, row_stride);
  f16* const x_ptr_11 = ptr_add(x_ptr, v10);
#line 15 "f0"
  f16* const y_ptr_13 = ptr_add(y_ptr, v10);
#line 17 "f0"
  f32 v14 = constant<f32>(0x0u /* 0 */);
#line 18 "f0"
  i32 v16 = 0;
  i32 v17 = 1024;
#line 20 "f0"
  f16 v112 = constant<f16>(0x0u /* 0 */);
  const auto total = splat<L0>(v14);
#line 18 "f0"
  Tile<f32, L0> total_33 = total;
  i32 v18 = v16;
  #pragma unroll 1
  for (u32 trips0 = trip_count<i32>(v18, n_cols, v17); trips0 != 0; --trips0, v18 = add(v18, static_cast<i32>(v17))) {
    Tile<f16, L0> v30;
    #pragma unroll
    for (int r = 0; r < 16; r += 8) {
#line 19 "f0"
      const i32 v20 = static_cast<i32>(L0::at(thread_L0, r));
      const i32 cols = add(v18, v20);
#line 20 "f0"
      f16* const v24 = ptr_add(x_ptr_11, cols);
      const bool v26 = lt(cols, n_cols);
      load<8, 0, 0>(v30.v + r, v24, v26, v112);
    }
    Tile<f32, L0> total_32;
    #pragma unroll
    for (int r = 0; r < 16; r += 1) {
      const f32 v31 = cast<f32>(v30.v[r]);
      total_32.v[r] = add(total_33.v[r], v31);
    }
#line 18 "f0"
    total_33 = total_32;
  }
#line 21 "f0"
  auto reduced1 = reduce<L2, R1, true>(0, total_33, AddOp{});
  auto v34 = scalar_of(reduced1);
  const f32 v35 = cast<f32>(n_cols);
  const f32 mean = truediv(v34, v35);
#line 25 "f0"
  f16 v113 = constant<f16>(0x0u /* 0 */);
#line 23 "f0"
  Tile<f32, L0> squares = total;
  i32 v41 = v16;
  #pragma unroll 1
  for (u32 trips2 = trip_count<i32>(v41, n_cols, v17); trips2 != 0; --trips2, v41 = add(v41, static_cast<i32>(v17))) {
    Tile<f16, L0> v53;
    #pragma unroll
    for (int r = 0; r < 16; r += 8) {
#line 24 "f0"
      const i32 v43 = static_cast<i32>(L0::at(thread_L0, r));
      const i32 cols_45 = add(v41, v43);
#line 25 "f0"
      f16* const v47 = ptr_add(x_ptr_11, cols_45);
      const bool v49 = lt(cols_45, n_cols);
      load<8, 0, 0>(v53.v + r, v47, v49, v113);
    }
    Tile<f32, L0> squares_117;
    #pragma unroll
    for (int r = 0; r < 16; r += 1) {
      const f32 x = cast<f32>(v53.v[r]);
#line 26 "f0"
      const f32 v58 = sub(x, mean);
#line 24 "f0"
      const i32 v43_run = static_cast<i32>(L0::at(thread_L0, (r & 8)));
      const i32 cols_45_run = add(v41, v43_run);
#line 25 "f0"
      const bool v49_run = lt(cols_45_run, n_cols);
#line 26 "f0"
      const f32 centred = where(v49_run, v58, total.v[r]);
#line 27 "f0"
      squares_117.v[r] = fma_(centred, centred, squares.v[r]);
    }
#line 23 "f0"
    squares = squares_117;
  }
#line 28 "f0"
  auto reduced3 = reduce<L2, R1, true>(0, squares, AddOp{});
  auto v65 = scalar_of(reduced3);
  const f32 v67 = truediv(v65, v35);
  const f32 v68 = add(v67, eps);
  const f32 v69 = tv::sqrt(v68);
  f32 v70 = constant<f32>(0x3f800000u /* 1 */);
  const f32 rstd = truediv(v70, v69);
#line 29 "f0"
  f32* const v72 = ptr_add(mean_ptr, row);
  store_scalar<0, 0>(v72, mean, true);
#line 30 "f0"
  f32* const v73 = ptr_add(rstd_ptr, row);
  store_scalar<0, 0>(v73, rstd, true);
#line 34 "f0"
  f16 v114 = constant<f16>(0x0u /* 0 */);
#line 31 "f0"
  i32 v76 = v16;
  #pragma unroll 1
  for (u32 trips4 = trip_count<i32>(v76, n_cols, v17); trips4 != 0; --trips4, v76 = add(v76, static_cast<i32>(v17))) {
    Tile<f16, L0> v87;
    #pragma unroll
    for (int r = 0; r < 16; r += 8) {
#line 32 "f0"
      const i32 v77 = static_cast<i32>(L0::at(thread_L0, r));
      const i32 cols_79 = add(v76, v77);
#line 34 "f0"
      f16* const v83 = ptr_add(x_ptr_11, cols_79);
#line 33 "f0"
      const bool inside = lt(cols_79, n_cols);
#line 34 "f0"
      load<8, 0, 0>(v87.v + r, v83, inside, v114);
    }
    Tile<f32, L0> x_88;
    #pragma unroll
    for (int r = 0; r < 16; r += 1) {
      x_88.v[r] = cast<f32>(v87.v[r]);
    }
    Tile<f16, L0> weight;
    Tile<f16, L0> bias;
    #pragma unroll
    for (int r = 0; r < 16; r += 8) {
#line 32 "f0"
      const i32 v77 = static_cast<i32>(L0::at(thread_L0, r));
      const i32 cols_79 = add(v76, v77);
#line 35 "f0"
      f16* const v90 = ptr_add(weight_ptr, cols_79);
#line 33 "f0"
      const bool inside = lt(cols_79, n_cols);
#line 35 "f0"
      load<8, 0, 0>(weight.v + r, v90, inside, v114);
#line 36 "f0"
      f16* const v96 = ptr_add(bias_ptr, cols_79);
      load<8, 0, 0>(bias.v + r, v96, inside, v114);
    }
    Tile<f32, L0> v118;
    #pragma unroll
    for (int r = 0; r < 16; r += 1) {
#line 37 "f0"
      const f32 v104 = sub(x_88.v[r], mean);
      const f32 v106 = mul(v104, rstd);
      const f32 v107 = cast<f32>(weight.v[r]);
      const f32 v109 = cast<f32>(bias.v[r]);
      v118.v[r] = fma_(v106, v107, v109);
    }
    Tile<f16, L0> v111;
    #pragma unroll
    for (int r = 0; r < 16; r += 2) {
      cast_pair(v111.v + r, v118.v + r);
    }
    barrier();
    #pragma unroll
    for (int r = 0; r < 16; r += 8) {
#line 32 "f0"
      const i32 v77 = static_cast<i32>(L0::at(thread_L0, r));
      const i32 cols_79 = add(v76, v77);
#line 37 "f0"
      f16* const v102 = ptr_add(y_ptr_13, cols_79);
#line 33 "f0"
      const bool inside = lt(cols_79, n_cols);
#line 37 "f0"
      store<8, 0, 0>(v102, v111.v + r, inside);
    }
#line 31 "f0"
  }
#line 12 "f0"
}
