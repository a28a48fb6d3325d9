// The text of every stage of the example kernels, for one fixed specialization each: what tests/golden/ holds and golden_test compares.
#ifndef TILEVM_TESTS_GOLDEN_H_
#define TILEVM_TESTS_GOLDEN_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace tilevm::tests {

// "tests/golden/add_kernel/1.open.tasm" -> text. Reads examples/ below the working directory.
absl::StatusOr<std::map<std::string, std::string>> GoldenTexts();

}  // namespace tilevm::tests

#endif  // TILEVM_TESTS_GOLDEN_H_
