// Rows of an array copied to rows that begin at multiples of 16 bytes, so that tensor maps can describe them. Source rows begin anywhere.
//
// A thread makes 16 bytes at a time from the two aligned 16-byte windows that hold them, shifted into place. Aligned windows that hold a byte of the array do
// not leave its memory; where the second would, past the last row, bytes are taken one by one. What lies behind a row in its last 16 bytes is left as it comes.
#pragma once
#include "device/types.cuh"

namespace tv {

struct Window { u32 words[4]; };

TV_DEV Window load_window(const u8* p) {
  Window w;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w.words[0]), "=r"(w.words[1]), "=r"(w.words[2]), "=r"(w.words[3]) : "l"(p));
  return w;
}
TV_DEV void store_window(u8* p, const Window& w) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(w.words[0]), "r"(w.words[1]), "r"(w.words[2]), "r"(w.words[3]) : "memory");
}

// The 16 bytes that begin `shift` (0 to 15) bytes into the two windows.
TV_DEV Window shifted(const Window& first, const Window& second, u32 shift) {
  u32 w[8];
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    w[i] = first.words[i];
    w[i + 4] = second.words[i];
  }
  #pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = (shift & 8) != 0 ? w[i + 2] : w[i];
  #pragma unroll
  for (int i = 0; i < 5; ++i) w[i] = (shift & 4) != 0 ? w[i + 1] : w[i];
  Window out;
  #pragma unroll
  for (int i = 0; i < 4; ++i) asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(out.words[i]) : "r"(w[i]), "r"(w[i + 1]), "r"((shift & 3) * 8));
  return out;
}

// Blocks of 64 x 4 threads; a block copies 4 rows. `chunks`: of 16 bytes in a row of the copy. `end`: past the array's last byte.
TV_DEV void repack(const u8* from, u64 from_pitch, u8* to, u64 to_pitch, u32 row_bytes, u32 chunks, u64 rows, const u8* end) {
  const u64 row = static_cast<u64>(blockIdx.x) * 4 + threadIdx.y;
  if (row >= rows) return;
  from += row * from_pitch;
  to += row * to_pitch;
  const u32 shift = static_cast<u32>(reinterpret_cast<u64>(from) & 15);
  #pragma unroll 4
  for (u32 chunk = threadIdx.x; chunk < chunks; chunk += 64) {
    const u8* at = from + chunk * u64{16};
    const u8* window = at - shift;
    Window out;
    if (window + (shift == 0 ? 16 : 32) <= end) {
      const Window first = load_window(window);
      out = shift == 0 ? first : shifted(first, load_window(window + 16), shift);
    } else {
      #pragma unroll
      for (u32 i = 0; i < 4; ++i) {
        out.words[i] = 0;
        for (u32 k = 0; k < 4; ++k) {
          if (chunk * 16 + i * 4 + k < row_bytes) out.words[i] |= static_cast<u32>(at[i * 4 + k]) << (8 * k);
        }
      }
    }
    store_window(to + chunk * u64{16}, out);
  }
}

}  // namespace tv
