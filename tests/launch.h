// Turns the arguments of a case into a specialization key and into what the interpreter is given.
#ifndef TILEVM_TESTS_LAUNCH_H_
#define TILEVM_TESTS_LAUNCH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "isa/module.h"
#include "specializer/ir/kernel.h"
#include "specializer/partial_eval/evaluator.h"
#include "tests/case_file.h"
#include "vm/interp/interp.h"

namespace tilevm::tests {

// The key by Triton's launch rules: constexpr, None, str and an unannotated 1 are static; other numbers and buffers are typed, with the fact
// "divisible by 16" where it holds.
absl::StatusOr<specializer::SpecializationKey> KeyOf(const Case& one, const isa::Function& function);

// Runtime arguments for kernel.params; buffers are numbered in the order of one.buffers.
absl::StatusOr<std::vector<vm::Arg>> ArgsOf(const Case& one, const ir::Kernel& kernel);

// A Python literal as a static value: 8, -1.5, True, None, "text", f32, (1, 2).
absl::StatusOr<specializer::Value> ParseStatic(absl::string_view text);

// The memory of one run: each buffer between two guard zones, outputs filled with a pattern that no case expects.
class Memory {
 public:
  Memory(const Case& one, uint8_t fill);

  std::vector<vm::Buffer> Buffers();
  // What differs from the expectation, with the index, or writes outside the buffers; "" if nothing does.
  std::string Differences() const;

 private:
  struct Block {
    std::vector<uint64_t> words;  // 64 bytes of guard, the data, 64 bytes of guard
    uint8_t* data = nullptr;
  };
  std::string CompareBuffer(const BufferSpec& spec, const uint8_t* data) const;

  const Case& case_;
  uint8_t fill_;
  std::vector<Block> blocks_;
};

}  // namespace tilevm::tests

#endif  // TILEVM_TESTS_LAUNCH_H_
