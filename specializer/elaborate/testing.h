// A kernel under construction for the tests of elaboration rules: operands by short texts, results as their type or their error.
#ifndef TILEVM_SPECIALIZER_ELABORATE_TESTING_H_
#define TILEVM_SPECIALIZER_ELABORATE_TESTING_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "specializer/elaborate/elaborate.h"

namespace tilevm::specializer {

class ElaborateTest : public testing::Test {
 protected:
  ElaborateTest();

  // "f16[8,4]" a tile parameter, "f16" a scalar one, "ptr<f32>[8]" pointers, "2" "-1" "0.5" "inf" "True" "None" static values, "" absent,
  // "'text'" a string, "(1,2)" a tuple of static ints, "dtype:f32" a dtype.
  Value Make(const std::string& text);

  // Elaborates and gives the result's type ("tile<8xf32>", "static 3", "none", types of a tuple joined by ", ") or "error: message".
  std::string Run(isa::Op op, const std::vector<std::string>& operands);
  std::string RunValues(isa::Op op, const std::vector<Value>& operands);
  std::string Describe(const absl::StatusOr<Value>& value);

  // The ops emitted since the last call, one a line without parameters; checks that the kernel verifies.
  std::string Emitted();

  ir::Kernel kernel_;
  ir::Builder builder_;
  Evaluator evaluator_;
  Elaborator elaborator_;
  Value last_;
};

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_ELABORATE_TESTING_H_
