// Names of the element types, and the storage of those that CUDA C++ has only in headers: bf16, f16 and fp8 travel as their bits.
#pragma once

namespace tv {

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using f32 = float;
using f64 = double;

#define TV_DEV __device__ __forceinline__

// An element kept as bits; arithmetic goes through f32 and rounds once (cast.cuh).
struct f16 { u16 bits; };
struct bf16 { u16 bits; };
struct f8e4m3 { u8 bits; };
struct f8e5m2 { u8 bits; };

template <class A, class B> struct same_t { static constexpr bool value = false; };
template <class A> struct same_t<A, A> { static constexpr bool value = true; };
template <class A, class B> constexpr bool same = same_t<A, B>::value;

template <class T> constexpr bool is_narrow_float = same<T, f16> || same<T, bf16> || same<T, f8e4m3> || same<T, f8e5m2>;
template <class T> constexpr bool is_float = same<T, f32> || same<T, f64> || is_narrow_float<T>;
template <class T> constexpr bool is_signed = same<T, i8> || same<T, i16> || same<T, i32> || same<T, i64>;
template <class T> constexpr bool is_integer = !is_float<T>;

template <class T> struct unsigned_of { using type = T; };
template <> struct unsigned_of<i8> { using type = u8; };
template <> struct unsigned_of<i16> { using type = u16; };
template <> struct unsigned_of<i32> { using type = u32; };
template <> struct unsigned_of<i64> { using type = u64; };
template <> struct unsigned_of<bool> { using type = u8; };
template <> struct unsigned_of<f16> { using type = u16; };
template <> struct unsigned_of<bf16> { using type = u16; };
template <> struct unsigned_of<f8e4m3> { using type = u8; };
template <> struct unsigned_of<f8e5m2> { using type = u8; };
template <> struct unsigned_of<f32> { using type = u32; };
template <> struct unsigned_of<f64> { using type = u64; };
template <class T> struct unsigned_of<T*> { using type = u64; };
template <class T> using unsigned_t = typename unsigned_of<T>::type;

template <int Bytes> struct unsigned_size { using type = u32; };
template <> struct unsigned_size<1> { using type = u8; };
template <> struct unsigned_size<2> { using type = u16; };
template <> struct unsigned_size<8> { using type = u64; };
template <int Bytes> using unsigned_of_size = typename unsigned_size<Bytes>::type;

template <bool C, class A, class B> struct pick_t { using type = A; };
template <class A, class B> struct pick_t<false, A, B> { using type = B; };
template <bool C, class A, class B> using pick = typename pick_t<C, A, B>::type;

// The same bits as another type of equal width.
template <class To, class From>
TV_DEV To bit_cast(From x) {
  static_assert(sizeof(To) == sizeof(From), "bitcast needs equal widths");
  To out;
  memcpy(&out, &x, sizeof(To));
  return out;
}
TV_DEV u32 bits_of(f32 x) { return __float_as_uint(x); }
TV_DEV f32 f32_of(u32 x) { return __uint_as_float(x); }

// Four words of four bytes, turned: byte j of turned[i] is byte i of x[j].
TV_DEV void turn_bytes(u32 (&turned)[4], const u32* x) {
  const u32 low01 = __byte_perm(x[0], x[1], 0x5140), low23 = __byte_perm(x[2], x[3], 0x5140), high01 = __byte_perm(x[0], x[1], 0x7362),
            high23 = __byte_perm(x[2], x[3], 0x7362);
  turned[0] = __byte_perm(low01, low23, 0x5410);
  turned[1] = __byte_perm(low01, low23, 0x7632);
  turned[2] = __byte_perm(high01, high23, 0x5410);
  turned[3] = __byte_perm(high01, high23, 0x7632);
}

}  // namespace tv
