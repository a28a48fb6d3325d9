// The buffers of one run, and their comparison with what the case expects.
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/float_format.h"
#include "tests/launch.h"

namespace tilevm::tests {
namespace {

constexpr size_t kGuardWords = 8;
constexpr uint64_t kGuard = 0xfeedfacecafebeefu;
constexpr int kShownDifferences = 4;

uint64_t ReadBits(const uint8_t* data, int size) {
  uint64_t bits = 0;
  std::memcpy(&bits, data, size);
  return bits;
}

std::string Shown(isa::DType dtype, uint64_t bits) {
  std::string hex = absl::StrFormat("0x%0*x", isa::StorageBytes(dtype) * 2, bits);
  if (isa::IsFloat(dtype)) return absl::StrFormat("%.17g (%s)", DecodeFloat(dtype, bits), hex);
  if (isa::IsSigned(dtype)) {
    int shift = 64 - isa::BitWidth(dtype);
    return absl::StrCat(static_cast<int64_t>(bits << shift) >> shift);
  }
  return absl::StrCat(bits);
}

std::string IndexText(const isa::Shape& shape, int64_t element) {
  std::string text;
  for (int d = static_cast<int>(shape.size()) - 1; d >= 0; --d) {
    text = absl::StrCat(element % shape[d], text.empty() ? "" : ",", text);
    element /= shape[d];
  }
  return text;
}

bool Agrees(isa::DType dtype, uint64_t got, uint64_t expected, const Tolerance& tolerance) {
  if (got == expected) return true;
  if (!isa::IsFloat(dtype) || tolerance.nan_bits) return false;
  if (IsNanBits(dtype, got) || IsNanBits(dtype, expected)) return IsNanBits(dtype, got) && IsNanBits(dtype, expected);
  if (tolerance.exact()) return false;
  double x = DecodeFloat(dtype, got), y = DecodeFloat(dtype, expected);
  if (std::isinf(x) || std::isinf(y)) return false;  // equal infinities have equal bits
  return std::fabs(x - y) <= tolerance.abs + tolerance.rel * std::fabs(y);
}

}  // namespace

Memory::Memory(const Case& one, uint8_t fill) : case_(one), fill_(fill) {
  for (const BufferSpec& spec : one.buffers) {
    Block block;
    size_t data_words = (spec.byte_count() + 7) / 8;
    block.words.assign(data_words + 2 * kGuardWords + 8, kGuard);
    auto address = reinterpret_cast<uintptr_t>(block.words.data() + kGuardWords);
    block.data = reinterpret_cast<uint8_t*>((address + 63) / 64 * 64);
    std::memset(block.data, fill, spec.byte_count());
    if (spec.role != BufferSpec::Role::kOut && !spec.before.bytes.empty()) {
      std::memcpy(block.data, spec.before.bytes.data(), spec.before.bytes.size());
    }
    blocks_.push_back(std::move(block));  // moving a vector keeps its storage
  }
}

std::vector<vm::Buffer> Memory::Buffers() {
  std::vector<vm::Buffer> buffers;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const BufferSpec& spec = case_.buffers[i];
    vm::Buffer buffer;
    buffer.data = blocks_[i].data;
    buffer.bytes = spec.byte_count();
    buffer.dtype = spec.dtype;
    buffer.name = spec.name;
    buffer.uninitialised = spec.uninitialised;
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

std::string Memory::CompareBuffer(const BufferSpec& spec, const uint8_t* data) const {
  const Elements& expected = spec.role == BufferSpec::Role::kIn ? spec.before : spec.after;
  int size = isa::StorageBytes(spec.dtype);
  std::string text;
  int64_t different = 0;
  Tolerance same_bits;
  same_bits.nan_bits = true;
  for (int64_t i = 0; i < spec.elem_count(); ++i) {
    bool untouched = !expected.untouched.empty() && expected.untouched[i] != 0;
    uint64_t wanted = untouched ? 0 : ReadBits(expected.bytes.data() + i * size, size);
    if (untouched && spec.role == BufferSpec::Role::kInOut) wanted = ReadBits(spec.before.bytes.data() + i * size, size);
    if (untouched && spec.role == BufferSpec::Role::kOut) std::memset(&wanted, fill_, size);
    uint64_t got = ReadBits(data + i * size, size);
    bool literal = untouched || spec.role == BufferSpec::Role::kIn;
    if (Agrees(spec.dtype, got, wanted, literal ? same_bits : spec.tolerance)) continue;
    if (++different > kShownDifferences) continue;
    absl::StrAppend(&text, "  ", spec.name, "[", IndexText(spec.shape, i), "] is ", Shown(spec.dtype, got), ", expected ",
                    untouched ? "untouched " : "", Shown(spec.dtype, wanted), "\n");
  }
  if (different > kShownDifferences) absl::StrAppend(&text, "  ... ", different, " of ", spec.elem_count(), " elements differ\n");
  return text;
}

std::string Memory::Differences() const {
  std::string text;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const BufferSpec& spec = case_.buffers[i];
    absl::StrAppend(&text, CompareBuffer(spec, blocks_[i].data));
    const auto* words = reinterpret_cast<const uint8_t*>(blocks_[i].words.data());
    size_t start = blocks_[i].data - words, end = start + spec.byte_count(), all = blocks_[i].words.size() * 8;
    uint8_t guard[8];
    std::memcpy(guard, &kGuard, 8);
    for (size_t at = 0; at < all; ++at) {
      if (at == start) at = end;  // the data itself
      if (at < all && words[at] != guard[at % 8]) {
        int64_t offset = static_cast<int64_t>(at) - static_cast<int64_t>(start);
        absl::StrAppend(&text, "  ", spec.name, ": byte ", offset, " outside the buffer was written\n");
        break;
      }
    }
  }
  return text;
}

}  // namespace tilevm::tests
