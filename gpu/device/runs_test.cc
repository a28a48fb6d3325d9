// The templates of runs (runs.cuh) on the host, thread after thread: every misalignment of a row that is read and of one that is written, and many lengths. What
// is read and written is right, each byte is written once, and no word is touched that has no element of the row.
#include "gpu/device/runs.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace tv {
namespace {

constexpr int kOff = 55, kOld = 99;
u32 thread_index = 0;

// A tile of Elems elements: V neighbours in a register, then lanes, warps, registers.
template <int Elems_, int V_, int Warps_>
struct Layout {
  static constexpr int Elems = Elems_, V = V_, Threads = 32 * Warps_;
  static constexpr int log2(int x) { return x == 1 ? 0 : 1 + log2(x / 2); }
  static constexpr int rank = 1, regs = Elems / Threads, reg_bits = log2(regs), vector_bits = log2(V);
  static constexpr bool disjoint = true;
  static constexpr u32 basis(int bit) { return bit < vector_bits ? 1u << bit : static_cast<u32>(Threads) << bit; }
  static constexpr u32 reg[8] = {basis(0), basis(1), basis(2), basis(3), basis(4), basis(5), basis(6), basis(7)};
  static constexpr int shift[1] = {0};
  static constexpr u32 mask[1] = {Elems - 1};
  static u32 thread() { return thread_index * V; }
  static u32 at(u32 thread, int r) { return thread + xor_of(reg, reg_bits, static_cast<u32>(r)); }
};

template <class T>
struct Row {
  explicit Row(int elements) : all(static_cast<size_t>(elements) + 64) {}
  // Of 16 bytes and `off` elements.
  T* At(int off) { return reinterpret_cast<T*>((reinterpret_cast<u64>(all.data()) + 15) / 16 * 16) + off; }
  std::vector<T> all;
};

template <class T, class L>
class Runs {
 public:
  void Load(const T* p, int total) {
    Allow(p, total);
    for (thread_index = 0; thread_index < L::Threads; ++thread_index) {
      const u32 thread = L::thread();
      RunLoad<T, L, 0, L::V, L::regs / L::V, false> run{};
      run.template issue<0, 0>(0, p + L::at(thread, 0), run_place<L, 0, L::Elems>(thread, 0), total);
      run.take(tile_[thread_index], static_cast<T>(kOff));
      for (int r = 0; r < L::regs; ++r) {
        const int i = static_cast<int>(L::at(thread, r));
        wrong_ += tile_[thread_index][r] != (i < total ? p[i] : static_cast<T>(kOff));
      }
    }
  }
  void Store(T* p, int total) {
    std::vector<u8> writes(static_cast<size_t>(total) * sizeof(T) + 1);
    Allow(p, total);
    memory.writes = writes.data();
    for (thread_index = 0; thread_index < L::Threads; ++thread_index) run_publish<L::V, L>(0, L::thread(), tile_[thread_index]);
    for (thread_index = 0; thread_index < L::Threads; ++thread_index) {
      const u32 thread = L::thread();
      run_store<0, L::V, L::regs / L::V, L::Threads, 0, 0, L>(0, thread, 0, p + L::at(thread, 0), run_place<L, 0, L::Elems>(thread, 0), total);
    }
    for (int i = 0; i < total * static_cast<int>(sizeof(T)); ++i) wrong_ += writes[static_cast<size_t>(i)] != 1;
  }
  // Mistakes since the last call.
  int Wrong() {
    const int out = wrong_ + memory.wrong;
    wrong_ = memory.wrong = 0;
    return out;
  }

 private:
  static void Allow(const T* p, int total) {
    memory.begin = reinterpret_cast<u64>(p);
    memory.end = reinterpret_cast<u64>(p + total);
  }
  T tile_[L::Threads][L::regs];
  int wrong_ = 0;
};

template <class T, class L>
void EveryMisalignment() {
  auto runs = std::make_unique<Runs<T, L>>();
  Row<T> from(L::Elems), to(L::Elems);
  for (size_t i = 0; i < from.all.size(); ++i) from.all[i] = static_cast<T>(i * 7 + 3);
  for (int off_from = 0; off_from < L::V; ++off_from) {
    for (int off_to = 0; off_to < L::V; ++off_to) {
      for (int total = 0; total <= L::Elems; total += total < 20 || total > L::Elems - 20 ? 1 : 61) {
        SCOPED_TRACE(testing::Message() << "from " << off_from << " to " << off_to << ", " << total << " elements");
        std::fill(to.all.begin(), to.all.end(), static_cast<T>(kOld));
        runs->Load(from.At(off_from), total);
        runs->Store(to.At(off_to), total);
        ASSERT_EQ(runs->Wrong(), 0);
        for (int i = -8; i < total + 8; ++i) {
          if (&to.At(off_to)[i] < to.all.data()) continue;
          ASSERT_EQ(to.At(off_to)[i], i >= 0 && i < total ? from.At(off_from)[i] : static_cast<T>(kOld)) << i;
        }
      }
    }
  }
}

TEST(Runs, EveryMisalignment) {
  EveryMisalignment<u16, Layout<1024, 8, 1>>();
  EveryMisalignment<u16, Layout<1024, 8, 2>>();
  EveryMisalignment<u8, Layout<512, 16, 1>>();
}

}  // namespace
}  // namespace tv
