// `name=value` arguments of the command line.
//
//   1024  -3  1e-5  inf  True  None  'text'  (1, 2)     a Python literal
//   f32  tl.float16  torch.bfloat16                     a dtype
//   @x.npy  @x.npy:bf16                                 a file (docs/cli.md: bf16 and fp8)
//   randn(4096, n, f16, seed=1)                         a recipe: randn rand zeros ones empty full randint arange
//   empty_like(x)  zeros_like(x)  clone(x)              the shape and dtype of a tensor given before
//
// Sizes of recipes are expressions (vm/grid_expression.h) over the integers given before. Recipes without a seed draw from the generator that
// --seed sets, in order.
#ifndef TILEVM_VM_CLI_VALUES_H_
#define TILEVM_VM_CLI_VALUES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "vm/host/host.h"

namespace tilevm::vm::cli {

struct NamedValue {
  std::string name;
  specializer::Value value;
};

// Parses "name=value" texts in order.
absl::StatusOr<std::vector<NamedValue>> ParseValues(const std::vector<std::string>& texts, host::Generator& generator);
absl::StatusOr<specializer::Value> ParseValue(absl::string_view text, const std::vector<NamedValue>& before, host::Generator& generator);

// "f32[4096, 1000]: 0.13, -1.2, 0.77, ..." or the value's repr.
std::string Summarise(const specializer::Value& value);
// A tensor into a .npy file.
absl::Status SaveTensor(const specializer::Value& value, const std::string& path);

}  // namespace tilevm::vm::cli

#endif  // TILEVM_VM_CLI_VALUES_H_
